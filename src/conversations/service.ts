// Creating conversations: never lost once answered, never made twice by a retry.
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import { numberEvents } from '../events/shapes.ts';
import type { Principal } from '../keys/principal.ts';
import { splitMcp } from '../mcp/secrets.ts';
import type { Vault } from '../secrets/vault.ts';
import {
  fingerprintText,
  firstEvents,
  firstMessage,
  type NormalRequest,
  normaliseRequest,
  subjectOf,
  titleOf,
} from './request.ts';
import type { ConversationResponse, CreateConversation } from './schema.ts';
import {
  type CreateOutcome,
  createConversation,
  findCreated,
  type NewConversation,
  purgeIdempotency,
} from './store.ts';

const idempotencyTtlMs = 24 * 60 * 60 * 1_000;
const idempotencyKeyMax = 255;
const sealAttemptsMax = 5;
const purgeEveryMs = 60_000;
const purgeMax = 1_000;

const waitsMessage =
  'Stored. This version of Parley has no worker that runs agents yet, so the conversation stays in STARTING.';

/** Both rates of a creation as one: what a safe retry must pass even when it is used up. */
export interface CreateLimits {
  take(keyId: string): AppError | undefined;
  giveBack(keyId: string): void;
}

interface ConversationsOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: CreateLimits;
  readonly nextId: () => string;
  readonly now?: () => number;
}

export type Conversations = ReturnType<typeof createConversations>;

function checkIdempotencyKey(key: string): void {
  if (key.length === 0 || key.length > idempotencyKeyMax || !/^[\x20-\x7e]+$/.test(key))
    throw invalid([
      { path: 'Idempotency-Key', message: `must be 1 to ${idempotencyKeyMax} printable ASCII characters` },
    ]);
}

export function createConversations({
  database,
  vault,
  limits,
  nextId,
  now = Date.now,
}: ConversationsOptions) {
  const purge = setInterval(
    () => void database.run(purgeIdempotency, purgeMax).catch(() => {}),
    purgeEveryMs,
  );
  purge.unref();

  function sealSecrets(request: NormalRequest, userId: number, id: string) {
    const { mcp_config, ...rest } = request;
    if (mcp_config === undefined) return { stored: rest, sealed: null };
    const { masked, secrets } = splitMcp(mcp_config);
    const owner = ['conversation', String(userId), id];
    return {
      stored: { ...rest, mcp_config: masked },
      sealed: secrets === undefined ? null : vault.seal(JSON.stringify(secrets), owner),
    };
  }

  function prepare(principal: Principal, sent: CreateConversation, keyHash: string | null): NewConversation {
    const request = normaliseRequest(sent);
    const id = sent.conversation_id ?? nextId();
    const message = firstMessage(request);
    const events = firstEvents(message, request, sent.replay_json);
    const { stored, sealed } = sealSecrets(request, principal.userId, id);
    return {
      userId: principal.userId,
      id,
      fingerprint: vault.fingerprint(fingerprintText(request, sent.replay_json)),
      title: titleOf(message, id),
      ...subjectOf(request, principal.via === 'bearer'),
      request: JSON.stringify(stored),
      sealed,
      events: numberEvents(events, 0, new Date(now()).toISOString()),
      idempotency: keyHash === null ? null : { keyHash, ttlMs: idempotencyTtlMs },
    };
  }

  function answer(id: string, outcome: CreateOutcome): ConversationResponse {
    switch (outcome.outcome) {
      case 'created':
        return { status: 'ok', conversation_id: id, message: waitsMessage, conversation_status: 'STARTING' };
      case 'existing':
        return {
          status: 'ok',
          conversation_id: outcome.id,
          message: outcome.status === 'STARTING' ? waitsMessage : null,
          conversation_status: outcome.status,
        };
      case 'stale_seal':
        throw new AppError('overloaded', 'The sealing key changes too often; try again.', { retryAfterS: 1 });
      case 'id_taken':
        throw new AppError(
          'conversation_exists',
          'A conversation with this conversation_id exists and was created with another request.',
        );
      case 'key_reused':
        throw new AppError(
          'idempotency_key_reused',
          'This Idempotency-Key was used with another request in the last 24 hours.',
        );
    }
  }

  /**
   * Stores the conversation and answers once it is on disk. The same id or Idempotency-Key with the same
   * request finds the first one, before any limit; with another request it is a conflict.
   */
  async function create(
    principal: Principal,
    sent: CreateConversation,
    idempotencyKey?: string,
  ): Promise<ConversationResponse> {
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
    // An id of the caller's own already gives the promise.
    const keyed = idempotencyKey !== undefined && sent.conversation_id === undefined;
    const keyHash = keyed ? vault.fingerprint(idempotencyKey) : null;
    let conversation = prepare(principal, sent, keyHash);
    const over = limits.take(principal.keyId);
    if (over !== undefined) {
      const { userId, fingerprint } = conversation;
      const lookup = { userId, fingerprint, id: sent.conversation_id ?? null, keyHash };
      const found = await database.run(findCreated, lookup);
      if (found === undefined) throw over;
      return answer(conversation.id, found);
    }
    let outcome = await database.run(createConversation, conversation);
    for (let attempt = 1; outcome.outcome === 'stale_seal' && attempt < sealAttemptsMax; attempt++) {
      await vault.refresh();
      conversation = prepare(principal, sent, keyHash);
      outcome = await database.run(createConversation, conversation);
    }
    if (outcome.outcome !== 'created') limits.giveBack(principal.keyId);
    return answer(conversation.id, outcome);
  }

  return { create, close: () => clearInterval(purge) };
}
