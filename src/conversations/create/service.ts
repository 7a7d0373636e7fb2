// Creates conversations: none is lost once it was confirmed, and a retry never creates a second one.

import { conversationTopic, userTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { ownerOf } from '../../encryption/store.ts';
import { storeEncrypted } from '../../encryption/storeEncrypted.ts';
import type { Vault } from '../../encryption/vault.ts';
import { AppError, invalid } from '../../errors.ts';
import { eventText } from '../../events/shapes.ts';
import type { GitProvider } from '../../git/providers.ts';
import type { Principal } from '../../keys/principal.ts';
import { noMcp, restoreMasks, splitMcp } from '../../mcp/secrets.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import { repeat } from '../../process/repeat.ts';
import { databaseAttributes } from '../../tracing/databaseAttributes.ts';
import { type Span, type Tracing, traced } from '../../tracing/tracing.ts';
import type { Choices } from '../choice/service.ts';
import { checkIdempotencyKey, idempotencyKeyReused, idempotencyTtlMs } from '../idempotency/key.ts';
import { purgeIdempotency } from '../idempotency/store.ts';
import type { FoundOutcome, NewConversation, StoredOutcome } from './newConversation.ts';
import {
  fingerprintText,
  firstEvents,
  firstMessage,
  type NormalRequest,
  normaliseRequest,
  replayOf,
  subjectOf,
  titleOf,
} from './request.ts';
import type { ConversationResponse, CreateConversation } from './schema.ts';
import { answerStatus } from './schema.ts';
import { createConversation, findCreated } from './store.ts';
import { tooManyWaiting } from './waiting.ts';

const purgeEveryMs = 60_000;
const purgeMax = 1_000;

/** The rate limit per key. A safe retry succeeds even if no request is left. */
export interface CreateLimits {
  take(keyId: string): AppError | undefined;
  giveBack(keyId: string): void;
}

interface ConversationsOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: CreateLimits;
  /** How many conversations of a user may wait for a worker; 0 means no limit. */
  readonly waitingMax: number;
  readonly choices: Choices;
  /** Why no agent may work in this folder of the machine, as the end of a sentence; undefined if one may. */
  readonly findFolderFault: (folder: string) => Promise<string | undefined>;
  /** Why this repository cannot be cloned for the user, as a sentence; undefined if nothing is known against it. */
  readonly findRepositoryFault: (userId: number, named: NamedRepository) => Promise<string | undefined>;
  /** A note for the creator of a new conversation. */
  readonly note?: () => string | null;
  readonly nextId: () => string;
  readonly onBackgroundError: (error: Error) => void;
  readonly clock?: Clock;
  readonly tracing?: Tracing | undefined;
}

interface NamedRepository {
  readonly repository: string;
  readonly provider: GitProvider | null;
}

/** What a request contains besides its body. */
export interface CreateContext {
  readonly idempotencyKey?: string | undefined;
  /** The error for a caller who has exceeded the rate limit. It does not apply to conversations that exist already. */
  readonly overRate?: AppError | undefined;
  /** The span of the request, if traces are recorded. */
  readonly span?: Span | undefined;
}

export type Conversations = ReturnType<typeof createConversations>;

/** The response for an outcome. Throws if it is a conflict. */
function answer(id: string, outcome: StoredOutcome, note: string | null): ConversationResponse {
  return outcome.outcome === 'created' ? answerStatus(id, 'STARTING', note) : answerExisting(outcome);
}

/** The response for what was created before. Throws if it is a conflict. */
export function answerExisting(outcome: FoundOutcome): ConversationResponse {
  switch (outcome.outcome) {
    case 'existing':
      return answerStatus(outcome.id, outcome.status);
    case 'id_taken':
      throw new AppError(
        'conversation_exists',
        'A conversation with this conversation_id exists and was created with a different request.',
      );
    case 'key_reused':
      throw idempotencyKeyReused();
  }
}

export function createConversations(options: ConversationsOptions) {
  const { database, vault, limits, waitingMax, choices, nextId, onBackgroundError } = options;
  const { clock = systemClock, tracing } = options;
  const note = options.note ?? (() => null);

  async function refuseLocalFolder({ local_folder: folder, workspace_patch: patch }: CreateConversation) {
    const fault =
      patch == null ? await options.findFolderFault(folder ?? '') : 'cannot be combined with workspace_patch';
    return fault === undefined ? undefined : invalid([{ path: 'local_folder', message: fault }]);
  }

  /** Clients that send changes can send the files instead, if they learn at once that the repository is of no use. */
  async function refusePatch(userId: number, { repository, git_provider: provider }: CreateConversation) {
    if (!repository) return undefined;
    const fault = await options.findRepositoryFault(userId, { repository, provider: provider ?? null });
    if (fault === undefined) return undefined;
    return new AppError('invalid', fault, { details: [{ path: 'repository', message: 'cannot be cloned' }] });
  }

  async function refuseFolder(userId: number, sent: CreateConversation): Promise<AppError | undefined> {
    return sent.local_folder ? refuseLocalFolder(sent) : refusePatch(userId, sent);
  }

  let lastMs = -1;
  let lastTimestamp = '';

  async function purge(): Promise<void> {
    while ((await database.run(purgeIdempotency, purgeMax)) === purgeMax);
  }
  const purges = repeat(purge, purgeEveryMs, onBackgroundError, clock);

  function sealSecrets(request: NormalRequest, userId: number, id: string) {
    // The message and its images are in the log, what was chosen in columns, the patch in a table. Setting them to
    // undefined is faster than leaving them out.
    const stored = {
      ...request,
      initial_user_msg: undefined,
      image_urls: undefined,
      agent: undefined,
      llm_model: undefined,
      confirmation_mode: undefined,
      client_folder: undefined,
      // The run only has to know that there is one.
      workspace_patch: request.workspace_patch && { ...request.workspace_patch, patch: '' },
    };
    const { mcp_config } = request;
    if (mcp_config === undefined) return { stored, sealed: null };
    const { faults } = restoreMasks(mcp_config, noMcp);
    if (faults.length > 0) throw invalid(faults);
    const { masked, secrets } = splitMcp(mcp_config);
    const owner = ownerOf({ table: 'conversations', userId, name: [id] });
    return {
      stored: { ...stored, mcp_config: masked },
      sealed: secrets === undefined ? null : vault.encrypt(JSON.stringify(secrets), owner),
    };
  }

  function fingerprintOf(sent: CreateConversation, request: NormalRequest): string {
    return vault.fingerprint(fingerprintText(request, replayOf(sent)));
  }

  /** The time as text, formatted once per millisecond. */
  function timestamp(): string {
    const ms = clock.now();
    if (ms !== lastMs) {
      lastMs = ms;
      lastTimestamp = new Date(ms).toISOString();
    }
    return lastTimestamp;
  }

  function prepare(
    principal: Principal,
    sent: CreateConversation,
    { id, keyHash, span }: { id: string; keyHash: string | null; span: Span | undefined },
  ): NewConversation {
    const request = normaliseRequest(sent);
    const message = firstMessage(request);
    const at = timestamp();
    // A list that grows is cheaper to pass to a thread than one that was allocated with its length.
    const events: string[] = [];
    let replayed = 0;
    let said = 0;
    for (const event of firstEvents(message, request, replayOf(sent))) {
      events.push(eventText(event, at));
      if ('replayed' in event) replayed += 1;
      else if (event.source === 'user') said = events.length;
    }
    const { stored, sealed } = sealSecrets(request, principal.userId, id);
    const { trigger, repository, branch, gitProvider } = subjectOf(request, principal.via === 'bearer');
    return {
      userId: principal.userId,
      id,
      fingerprint: fingerprintOf(sent, request),
      title: titleOf(message, id),
      trigger,
      repository,
      branch,
      gitProvider,
      agent: request.agent ?? null,
      llmModel: request.llm_model ?? null,
      confirmationMode: request.confirmation_mode === undefined ? null : Number(request.confirmation_mode),
      clientFolder: request.client_folder ?? null,
      patch: request.workspace_patch?.patch ?? null,
      request: JSON.stringify(stored),
      sealed,
      events,
      replayed,
      said,
      at,
      idempotency: keyHash === null ? null : { keyHash, ttlMs: idempotencyTtlMs },
      traceparent: span?.traceparent ?? null,
      waitingMax,
    };
  }

  function traceStore<Out>(parent: Span, store: () => Promise<Out>): Promise<Out> {
    const { name } = createConversation;
    const attributes = databaseAttributes(database.kind, name);
    return traced(tracing, name, { kind: 'client', parent, attributes }, store);
  }

  async function findExisting({ userId }: Principal, sent: CreateConversation, keyHash: string | null) {
    const fingerprint = fingerprintOf(sent, normaliseRequest(sent));
    return database.run(findCreated, { userId, fingerprint, id: sent.conversation_id ?? null, keyHash });
  }

  /**
   * Stores the conversation and returns once it is on disk. The same id or Idempotency-Key with the same request
   * returns the first one, before any limit or refusal; with another request it is a conflict.
   */
  async function create(
    principal: Principal,
    body: CreateConversation,
    { idempotencyKey, overRate, span }: CreateContext = {},
  ): Promise<ConversationResponse> {
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
    const sent = body.agent ? { ...body, agent: choices.agentId(body.agent) } : body;
    // The caller's own id gives the same guarantee.
    const keyed = idempotencyKey !== undefined && sent.conversation_id === undefined;
    const keyHash = keyed ? vault.fingerprint(idempotencyKey) : null;
    const { userId } = principal;
    // Awaits only what is not known yet, because awaiting takes time even for nothing.
    const isChosen = overRate === undefined && (sent.agent || sent.llm_model);
    const fault = isChosen ? await choices.findFault(userId, sent) : undefined;
    const hasFolder = overRate === undefined && (sent.local_folder || sent.workspace_patch);
    const folderFault = hasFolder ? await refuseFolder(userId, sent) : undefined;
    const refusal = overRate ?? fault ?? folderFault ?? limits.take(principal.keyId);
    if (refusal !== undefined) {
      const found = await findExisting(principal, sent, keyHash);
      if (found === undefined) throw refusal;
      return answer('', found, null);
    }
    let created = false;
    try {
      const id = sent.conversation_id ?? nextId();
      const store = () =>
        storeEncrypted(vault, () =>
          database.run(createConversation, prepare(principal, sent, { id, keyHash, span })),
        );
      const stored = await (span === undefined ? store() : traceStore(span, store));
      if (stored.outcome === 'too_many_waiting') throw tooManyWaiting(waitingMax);
      if (stored.outcome === 'created') {
        created = true;
        database.notify([conversationTopic(stored.key), userTopic(userId), workTopic]);
      }
      return answer(id, stored, note());
    } finally {
      if (!created) limits.giveBack(principal.keyId);
    }
  }

  return { create, close: purges.stop };
}
