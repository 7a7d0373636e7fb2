// Forks conversations: a new one with the history of another up to an event, and with the files of that turn.
import { randomBytes } from 'node:crypto';
import { conversationTopic, userTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { blobKeyBytes } from '../../encryption/encrypt.ts';
import { ownerOf } from '../../encryption/store.ts';
import { storeEncrypted } from '../../encryption/storeEncrypted.ts';
import type { Vault } from '../../encryption/vault.ts';
import { AppError } from '../../errors.ts';
import { readEvents, type StoredEvent } from '../../events/store.ts';
import type { Principal } from '../../keys/principal.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import { repeat } from '../../process/repeat.ts';
import type { Choices } from '../choice/service.ts';
import type { ConversationResponse } from '../create/schema.ts';
import { answerStatus } from '../create/schema.ts';
import { answerExisting, type CreateContext, type CreateLimits } from '../create/service.ts';
import { findCreated } from '../create/store.ts';
import { tooManyWaiting } from '../create/waiting.ts';
import { conversationName, noConversation } from '../id.ts';
import { checkIdempotencyKey, idempotencyTtlMs } from '../idempotency/key.ts';
import { beginFork, copyEvents, discardCopy, listAbandoned } from './copyStore.ts';
import type { ForkOutcome, NewFork } from './newFork.ts';
import {
  choiceOf,
  eventOf,
  fingerprintText,
  firstEvents,
  interrupted,
  messageIndex,
  noSnapshot,
  titleOf,
} from './request.ts';
import type { ForkConversation } from './schema.ts';
import { type ForkSource, filesAfter, findForkSource, type TurnFiles } from './source.ts';
import { publishFork } from './store.ts';

/** What one transaction copies. */
const batch = { eventsMax: 1_000, bytesMax: 4_194_304 };
/** What is read at once to find the turn of an event. */
const piece = { max: 500, bytesMax: 1_048_576 };
/** A copy that nobody has continued for so long is deleted. */
const abandonedMs = 10 * 60_000;
const discardEveryMs = 60_000;
const discardedMax = 100;
const snapshotIdBytes = 16;
const checkMs = 20_000;
/** How often a fork is tried whose files are replaced meanwhile. */
const triesMax = 3;

interface ForksOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: CreateLimits;
  /** How many conversations of a user may wait for a worker; 0 means no limit. */
  readonly waitingMax: number;
  readonly choices: Choices;
  /** Why the files of a snapshot cannot be restored; undefined if nothing is known against it. Absent without a store. */
  readonly findSnapshotFault?:
    | ((id: string, blob: string, signal: AbortSignal) => Promise<string | undefined>)
    | undefined;
  readonly nextId: () => string;
  readonly onBackgroundError: (error: Error) => void;
  readonly clock?: Clock;
}

type SettledOutcome = Exclude<ForkOutcome, { outcome: 'stale_seal' }>;

interface Prepared {
  readonly fingerprint: string;
  readonly keyHash: string | null;
  readonly traceparent: string | null;
}

export type Forks = ReturnType<typeof createForks>;

export function createForks(options: ForksOptions) {
  const { database, vault, limits, waitingMax, choices, findSnapshotFault, nextId } = options;
  const { clock = systemClock, onBackgroundError } = options;

  async function discard(key: number): Promise<void> {
    while (await database.run(discardCopy, { key, max: batch.eventsMax }));
  }

  /** Deletes what processes have left that ended while they copied. */
  async function discardAbandoned(): Promise<void> {
    const keys = await database.run(listAbandoned, { abandonedMs, max: discardedMax });
    for (const key of keys) await discard(key);
  }
  const discards = repeat(discardAbandoned, discardEveryMs, onBackgroundError, clock);

  async function* readBackwards(conversation: number, from: number, below: number) {
    for (let end = below; end > from; ) {
      const range = { conversation, from, below: end, newestFirst: true, ...piece };
      const found: StoredEvent[] = await database.run(readEvents, range);
      if (found.length === 0) return;
      const events = found.toSorted((one, other) => other.id - one.id);
      yield events;
      end = events.at(-1)?.id ?? from;
    }
  }

  /** Throws if the files that were asked for are not there. */
  async function chooseFiles(
    source: ForkSource,
    eventId: number,
    { files: wanted }: ForkConversation,
  ): Promise<TurnFiles | null> {
    const files = wanted ?? 'turn';
    if (files === 'none') return null;
    if (findSnapshotFault === undefined) throw noSnapshot('This service stores no snapshots of files.');
    const chosen =
      files === 'latest'
        ? source.files.find(({ isLatest }) => isLatest)
        : await filesAfter(source, eventId, (from, below) => readBackwards(source.key, from, below));
    if (chosen === undefined) throw noSnapshot('There is no snapshot of the files of this turn.');
    const fault = await findSnapshotFault(chosen.snapshotId, chosen.blob, AbortSignal.timeout(checkMs));
    if (fault !== undefined)
      throw new AppError('snapshot_unusable', `The snapshot of these files cannot be used: ${fault}.`);
    return chosen;
  }

  /** Throws if the source is deleted meanwhile. */
  async function copyLog(key: number, source: ForkSource, below: number): Promise<void> {
    for (let from = 0; from < below; ) {
      const next = await database.run(copyEvents, { key, sourceKey: source.key, from, below, ...batch });
      if (next === 'gone') throw noConversation();
      if (next === 'discarded') throw interrupted();
      from = next;
    }
  }

  /** The secrets of MCP servers, encrypted for the new conversation. */
  async function sealedFor(userId: number, source: ForkSource, id: string): Promise<string | null> {
    if (source.sealed === null) return null;
    const owner = (name: string) => ownerOf({ table: 'conversations', userId, name: [name] });
    return vault.encrypt(await vault.decrypt(source.sealed, owner(source.id)), owner(id));
  }

  function sealedFiles(userId: number, files: TurnFiles | null): NewFork['files'] {
    if (files === null) return null;
    const id = randomBytes(snapshotIdBytes).toString('hex');
    const key = randomBytes(blobKeyBytes).toString('base64url');
    return { ...files, id, sealed: vault.encrypt(key, ownerOf({ table: 'snapshots', userId, name: [id] })) };
  }

  /** Throws unless the fork exists. */
  function settle(
    id: string,
    { userId, message }: Pick<NewFork, 'userId' | 'message'>,
    outcome: SettledOutcome,
  ) {
    switch (outcome.outcome) {
      case 'created':
        database.notify([conversationTopic(outcome.key), userTopic(userId), workTopic]);
        return answerStatus(id, message === null ? 'STOPPED' : 'STARTING');
      case 'too_many_waiting':
        throw tooManyWaiting(waitingMax);
      case 'source_gone':
        throw noConversation();
      case 'no_snapshot':
        throw noSnapshot('The snapshot of these files was removed meanwhile.');
      case 'discarded':
        throw interrupted();
      default:
        return answerExisting(outcome);
    }
  }

  async function store(principal: Principal, source: ForkSource, body: ForkConversation, prepared: Prepared) {
    const { userId, keyId, via } = principal;
    const eventId = eventOf(source, body);
    const files = await chooseFiles(source, eventId, body);
    const text = body.message ?? '';
    const message = text === '' ? null : messageIndex;
    const id = nextId();
    const key = await database.run(beginFork, { userId, id });
    try {
      await copyLog(key, source, eventId + 1);
      const at = new Date(clock.now()).toISOString();
      const { fingerprint, keyHash, traceparent } = prepared;
      const outcome = await storeEncrypted(vault, async () =>
        database.run(publishFork, {
          ...{ userId, keyId, id, key, fingerprint, traceparent, eventId, at, waitingMax },
          ...choiceOf(source, body),
          idempotency: keyHash === null ? null : { keyHash, ttlMs: idempotencyTtlMs },
          source: { key: source.key, id: source.id },
          title: body.title?.trim() ?? titleOf(source),
          trigger: via === 'bearer' ? 'openhands_api' : 'gui',
          repository: source.repository,
          branch: source.branch,
          gitProvider: source.git_provider,
          clientFolder: source.client_folder,
          request: source.request,
          sealed: await sealedFor(userId, source, id),
          files: sealedFiles(userId, files),
          events: firstEvents(source, eventId, text, at),
          message,
        }),
      );
      return { outcome, id, userId, message };
    } finally {
      // Finds nothing if the fork is visible. What is left by a failure is deleted later.
      await discard(key).catch(onBackgroundError);
    }
  }

  async function findSource(principal: Principal, id: string): Promise<ForkSource> {
    const source = await database.run(findForkSource, conversationName(principal, id));
    if (source === undefined) throw noConversation();
    return source;
  }

  async function findFault({ userId }: Principal, source: ForkSource, sent: ForkConversation) {
    if (sent.agent === undefined && sent.llm_model === undefined) return undefined;
    const { agent, llmModel } = choiceOf(source, sent);
    return choices.findFault(userId, { agent, llm_model: llmModel });
  }

  /**
   * Creates the fork and returns once it is on disk. The same Idempotency-Key with the same request returns the first one,
   * before any limit or refusal; with another request it is a conflict.
   */
  async function fork(
    principal: Principal,
    sourceId: string,
    body: ForkConversation,
    { idempotencyKey, overRate, span }: CreateContext = {},
  ): Promise<ConversationResponse> {
    if (principal.conversationId !== undefined)
      throw new AppError('forbidden', 'This API key is valid for one conversation only.');
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
    const { userId, keyId } = principal;
    const sent = body.agent ? { ...body, agent: choices.agentId(body.agent) } : body;
    const fingerprint = vault.fingerprint(fingerprintText(sourceId, sent));
    const keyHash = idempotencyKey === undefined ? null : vault.fingerprint(idempotencyKey);
    const existing = keyHash && (await database.run(findCreated, { userId, fingerprint, id: null, keyHash }));
    if (existing) return answerExisting(existing);
    if (overRate !== undefined) throw overRate;
    const source = await findSource(principal, sourceId);
    const refusal = (await findFault(principal, source, sent)) ?? limits.take(keyId);
    if (refusal !== undefined) throw refusal;
    let isNew = false;
    try {
      const prepared = { fingerprint, keyHash, traceparent: span?.traceparent ?? null };
      let stored = await store(principal, source, sent, prepared);
      // A run may have replaced the snapshot by a newer one.
      for (let tries = 1; stored.outcome.outcome === 'no_snapshot' && tries < triesMax; tries++)
        stored = await store(principal, await findSource(principal, sourceId), sent, prepared);
      isNew = stored.outcome.outcome === 'created';
      return settle(stored.id, stored, stored.outcome);
    } finally {
      if (!isNew) limits.giveBack(keyId);
    }
  }

  return { fork, discardAbandoned, close: discards.stop };
}
