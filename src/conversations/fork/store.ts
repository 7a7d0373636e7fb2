// Makes a fork visible: its row, the snapshot that it needs, its own first events and the notifications are one transaction.
import { recordAudit } from '../../audit/store.ts';
import { one, type Queries, repeatableWrite, rows, type Steps } from '../../db/transaction.ts';
import { encryptedWithActiveKey } from '../../encryption/store.ts';
import { changeText } from '../../events/changes/shape.ts';
import { recordChange } from '../../events/changes/store.ts';
import { insertEvents } from '../../events/store.ts';
import { recordDeliveries } from '../../webhooks/outboxStore.ts';
import { findClaimed, findStored } from '../create/store.ts';
import { areTooManyWaiting } from '../create/waiting.ts';
import { claimKey, releaseKey } from '../idempotency/store.ts';
import { type ConversationStatus, stopReason } from '../states.ts';
import { copyTransactions } from './copyStore.ts';
import type { ForkOutcome, NewFork } from './newFork.ts';
import { findForkSource, turnFilesOf } from './source.ts';

/**
 * Locks the snapshot, which publications and removals change as well, and finds out whether it still has the files.
 * Blobs are removed only after a publication, and not if a fork needs them.
 */
function* lockFiles(q: Queries, { source, files }: NewFork): Steps<boolean> {
  if (files === null) return true;
  const locked = yield* one(
    q.build
      .updateTable('snapshots')
      .set((e) => ({ created_at: e.ref('created_at') }))
      .where('conversation_key', '=', source.key)
      .where('removed_at', 'is', null)
      .returning('id'),
  );
  if (locked === undefined) return false;
  const found = yield* one(
    q.build.selectFrom('conversations').select(['key', 'forked_event']).where('key', '=', source.key),
  );
  const now = found === undefined ? [] : yield* turnFilesOf(q, found);
  return now.some(({ snapshotId, blob }) => snapshotId === files.snapshotId && blob === files.blob);
}

const statusOf = ({ message }: NewFork): ConversationStatus => (message === null ? 'STOPPED' : 'STARTING');
const reasonOf = ({ message }: NewFork) => (message === null ? stopReason('forked') : null);

function* insertFork(q: Queries, f: NewFork): Steps<void> {
  const copied = f.eventId + 1;
  const next = copied + f.events.length;
  // The agent gets what was said before as history.
  const heard = f.message === null ? next : copied + f.message;
  const reason = reasonOf(f);
  yield* rows(
    q.build.insertInto('conversations').values({
      key: f.key,
      user_id: f.userId,
      id: f.id,
      fingerprint: f.fingerprint,
      status: statusOf(f),
      stop_code: reason?.code ?? null,
      stop_sentence: reason?.message ?? null,
      title: f.title,
      trigger: f.trigger,
      repository: f.repository,
      branch: f.branch,
      git_provider: f.gitProvider,
      agent: f.agent,
      llm_model: f.llmModel,
      confirmation_mode: f.confirmationMode,
      client_folder: f.clientFolder,
      request: f.request,
      sealed: f.sealed,
      next_event: next,
      said: f.message === null ? next : heard + 1,
      heard,
      seen: next,
      traceparent: f.traceparent,
      forked_from: f.source.id,
      forked_event: f.eventId,
      created_at: q.now,
      updated_at: q.now,
    }),
  );
  yield* insertEvents(q, f.key, copied, f.events);
}

/** The snapshot of the fork refers to that of the source until it has blobs of its own. */
function* insertFiles(q: Queries, { key, userId, id, files }: NewFork): Steps<void> {
  if (files === null) return;
  yield* rows(
    q.build.insertInto('snapshots').values({
      id: files.id,
      conversation_key: key,
      user_id: userId,
      conversation_id: id,
      sealed: files.sealed,
      source_id: files.snapshotId,
      source_blob: files.blob,
      taken_at: files.takenAt,
      created_at: q.now,
    }),
  );
}

/** The changes that the workspace of the source started with. */
function* copyPatch(q: Queries, { key, source }: NewFork): Steps<void> {
  const found = yield* one(
    q.build.selectFrom('workspace_patches').select('patch').where('conversation_key', '=', source.key),
  );
  if (found === undefined) return;
  yield* rows(q.build.insertInto('workspace_patches').values({ conversation_key: key, patch: found.patch }));
}

function* recordFork(q: Queries, f: NewFork): Steps<void> {
  const status = changeText({
    conversation_id: f.id,
    status: statusOf(f),
    agent_state: null,
    title: f.title,
    stop_reason: reasonOf(f),
    at: f.at,
    pinned: false,
    archived: false,
    unread: false,
  });
  yield* recordChange(q, f.userId, status);
  // Copied events did not happen now, so webhooks do not get them.
  const events = { first: f.eventId + 1, count: f.events.length };
  const { userId, key: conversationKey, id: conversationId } = f;
  yield* recordDeliveries(q, { userId, conversationKey, conversationId, status, events });
  const subject = `${f.id} from ${f.source.id}`;
  yield* recordAudit(q, [{ userId, keyId: f.keyId, action: 'conversation.fork', subject }]);
}

/** Why the fork cannot be created, or that it was, before the answer was lost; undefined if it can be. */
function* findRefusal(q: Queries, f: NewFork): Steps<ForkOutcome | undefined> {
  const own = q.build.selectFrom('conversations').select('key').where('key', '=', f.key);
  if ((yield* one(own)) !== undefined) return { outcome: 'created', key: f.key };
  const source = q.build.selectFrom('conversations').select('id').where('key', '=', f.source.key);
  // A deletion waits until this transaction ends; other changes of the source do not.
  const locked = yield* one(q.kind === 'postgres' ? source.forKeyShare() : source);
  if (locked === undefined) return { outcome: 'source_gone' };
  if (!(yield* lockFiles(q, f))) return { outcome: 'no_snapshot' };
  const copy = yield* one(
    q.build
      .deleteFrom('imports')
      .where('conversation_key', '=', f.key)
      .where('next_event', '=', f.eventId + 1)
      .returning('conversation_key'),
  );
  return copy === undefined ? { outcome: 'discarded' } : undefined;
}

/** Makes the fork visible, or finds the one that the same request created before. */
export const publishFork = repeatableWrite('forks.publish', function* (q, f: NewFork): Steps<ForkOutcome> {
  const sealed = [f.sealed, f.files?.sealed ?? null].filter((text) => text !== null);
  if (!(yield* encryptedWithActiveKey(q, sealed))) return { outcome: 'stale_seal' };
  if (f.message !== null && (yield* areTooManyWaiting(q, f))) {
    const keyHash = f.idempotency?.keyHash ?? null;
    return (yield* findStored(q, { ...f, id: null, keyHash })) ?? { outcome: 'too_many_waiting' };
  }
  // A second attempt covers a conversation that is deleted, with its key, between the queries.
  for (let attempt = 0; f.idempotency !== null && attempt < 2; attempt++) {
    const claimed = yield* claimKey(q, { ...f, conversationId: f.id, eventId: null }, f.idempotency);
    if (claimed === undefined) break;
    const found = yield* findClaimed(q, f, claimed);
    if (found !== undefined) return found;
  }
  const refusal = yield* findRefusal(q, f);
  if (refusal !== undefined) {
    if (f.idempotency !== null) yield* releaseKey(q, f.userId, f.idempotency.keyHash);
    return refusal;
  }
  yield* insertFork(q, f);
  yield* insertFiles(q, f);
  yield* copyPatch(q, f);
  yield* recordFork(q, f);
  return { outcome: 'created', key: f.key };
});

export const forkTransactions = [findForkSource, ...copyTransactions, publishFork];
