// Chooses the next conversation for a process. The user with the fewest runs is first.
import { type RawBuilder, sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationStatus } from '../states.ts';
import { readAllUsage } from '../usage/columns.ts';
import type { UsageColumns } from '../usage/shape.ts';
import { isWaiting, withWaitingUsers } from '../waitingUsers.ts';

interface Claim {
  readonly runId: string;
  /** The claiming process. */
  readonly owner: string;
  readonly leaseMs: number;
  /** How many runs one user may have at the same time; 0 means no limit. */
  readonly userRunsMax: number;
}

/** A claimed conversation, with the model usage of its earlier runs. */
export interface ClaimedConversation extends UsageColumns {
  readonly key: number;
  readonly user_id: number;
  readonly id: string;
  readonly status: ConversationStatus;
  readonly request: string;
  readonly sealed: string | null;
  readonly next_event: number;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly git_provider: string | null;
  /** The id of its agent; null means the one in the settings, until it has had a session. */
  readonly agent: string | null;
  /** Its own model; null means the one in the settings. */
  readonly llm_model: string | null;
  /** Its own approval mode, 1 or 0; null means what the settings say. */
  readonly confirmation_mode: number | null;
  readonly agent_session: string | null;
  /** A JSON list of the tool kinds that the user has allowed permanently. */
  readonly always_allowed: string | null;
  readonly workspace_node: string | null;
  readonly heard: number;
  readonly turn_open: number;
  readonly turn_from: number | null;
  readonly session_from: number | null;
  readonly question: number | null;
  /** How often it was claimed without progress, including this time. */
  readonly claims: number;
  /** The trace of the last request that gave it work; null unless traces are recorded. */
  readonly traceparent: string | null;
  /** How long it had been waiting for a worker. */
  readonly waited_ms: number;
}

const claimedColumns = [
  'key',
  'user_id',
  'id',
  'status',
  'request',
  'sealed',
  'next_event',
  'repository',
  'branch',
  'git_provider',
  'agent',
  'llm_model',
  'confirmation_mode',
  'agent_session',
  'always_allowed',
  'workspace_node',
  'heard',
  'turn_open',
  'turn_from',
  'session_from',
  'question',
  'claims',
  'traceparent',
] as const;

interface Waiting {
  readonly user_id: number;
  readonly key: number;
}

/**
 * The oldest waiting conversation of each user.
 */
const listWaiting = prepared((q: Queries, _: object): Query<Waiting> => {
  const query: RawBuilder<Waiting> = sql`
    ${withWaitingUsers}
    select user_id, (select min(key) from conversations where ${isWaiting} and user_id = waiting.user_id) as key
    from waiting where user_id is not null`;
  return { compile: () => query.compile(q.build) };
});

const countRuns = prepared((q: Queries, _: object) =>
  q.build
    .selectFrom('conversations')
    .select((e) => ['user_id', e.fn.countAll<number>().as('runs')])
    .where('run_id', 'is not', null)
    .groupBy('user_id'),
);

function* runsByUser(q: Queries): Steps<ReadonlyMap<number, number>> {
  return new Map((yield* rows(countRuns(q, {}))).map(({ user_id, runs }) => [user_id, Number(runs)]));
}

/** Locks the user's row, so that two processes that claim at once cannot both stay below the limit. */
function lockUser(q: Queries, userId: number): Query<unknown> {
  return q.build
    .updateTable('users')
    .set((e) => ({ created_at: e.ref('created_at') }))
    .where('id', '=', userId)
    .returning('id');
}

const takeConversation = prepared((q: Queries, claim: Claim & { key: number }) =>
  q.build
    .updateTable('conversations')
    .set({
      run_id: claim.runId,
      owner: claim.owner,
      lease_until: sql<number>`${q.now} + ${claim.leaseMs}`,
      claimed_at: q.now,
      active_at: q.now,
      wanted: null,
      steps: 0,
      claims: sql<number>`claims + 1`,
    })
    .where('key', '=', claim.key)
    .where('run_id', 'is', null)
    .where('status', '<>', 'STOPPED')
    .returning([
      ...claimedColumns,
      ...readAllUsage(q.kind),
      sql<number>`${q.now} - updated_at`.as('waited_ms'),
    ]),
);

/**
 * Claims the oldest waiting conversation of the user with the fewest runs. If its status is RUNNING, its previous run
 * was lost. Returns undefined if none waits, or if every user who waits is at the limit.
 */
export const claimConversation = write('runtime.claim', function* (q, claim: Claim): Steps<
  ClaimedConversation | undefined
> {
  const { userRunsMax } = claim;
  const waiting = yield* rows(listWaiting(q, {}));
  if (waiting.length === 0) return undefined;
  const runs = yield* runsByUser(q);
  const runsOf = ({ user_id }: Waiting) => runs.get(user_id) ?? 0;
  const fair = waiting.toSorted((a, b) => runsOf(a) - runsOf(b) || a.key - b.key);
  for (const candidate of fair) {
    if (userRunsMax > 0) {
      if (runsOf(candidate) >= userRunsMax) return undefined;
      yield* rows(lockUser(q, candidate.user_id));
      const now = (yield* runsByUser(q)).get(candidate.user_id) ?? 0;
      if (now >= userRunsMax) continue;
    }
    const taken = yield* one(takeConversation(q, { ...claim, key: candidate.key }));
    if (taken !== undefined) return { ...taken, status: taken.status as ConversationStatus };
  }
  return undefined;
});

export const claimTransactions = [claimConversation];
