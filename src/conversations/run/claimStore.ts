// Chooses the next conversation for a process. The user with the fewest runs is first. The cost grows neither with the
// conversations that wait nor with those that run, and only up to a bound with the users who wait.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationStatus } from '../states.ts';
import { readAllUsage } from '../usage/columns.ts';
import type { UsageColumns } from '../usage/shape.ts';
import { lockUsers, tryLockUser } from '../userLock.ts';
import { isWaiting } from '../waitingUsers.ts';

/** How many waiting users are compared. If more wait, claims go around all of them. */
export const comparedUsersMax = 100;

interface Claim {
  readonly runId: string;
  /** The claiming process. */
  readonly owner: string;
  readonly leaseMs: number;
  /** How many runs one user may have at the same time; 0 means no limit. */
  readonly userRunsMax: number;
  /** `usersAfter` of the claim before. */
  readonly usersAfter?: number;
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
  /** The next claim begins with the users whose ids are larger; 0 if all waiting users were compared. */
  readonly usersAfter: number;
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

interface WaitingUser {
  readonly user_id: number;
  /** The user's oldest waiting conversation. */
  readonly key: number;
  /** How many conversations of the user run. */
  readonly runs: number;
}

/**
 * Waiting users, in the order of their ids. It jumps from user to user in the index instead of reading every row. Only that
 * index has the order of user and key. With `user_id =` alone, PostgreSQL would look for a user with few conversations among
 * all rows in the order of the key, if it believes that most rows belong to that user.
 */
const listUsers = prepared(
  (q: Queries, { after, max }: { after: number; max: number }): Query<WaitingUser> => {
    const query = sql<WaitingUser>`
    with recursive waiting (user_id, n) as (
      select min(user_id), 1 from conversations where ${isWaiting} and user_id > ${after}
      union all
      select (select min(user_id) from conversations where ${isWaiting} and user_id > waiting.user_id), n + 1
      from waiting where user_id is not null and n < ${max})
    select user_id,
      (select key from conversations where ${isWaiting} and user_id >= waiting.user_id
        order by user_id, key limit 1) as key,
      (select count(*) from conversations where run_id is not null and user_id = waiting.user_id) as runs
    from waiting where user_id is not null`;
    return { compile: () => query.compile(q.build) };
  },
);

/** The next waiting users after `after`, and from the first one on again after the last one. */
function* listRound(q: Queries, after: number): Steps<readonly WaitingUser[]> {
  const max = comparedUsersMax;
  const users = yield* rows(listUsers(q, { after, max }));
  if (after === 0 || users.length === max) return users;
  const others = yield* rows(listUsers(q, { after: 0, max: max - users.length }));
  return [...users, ...others.filter(({ user_id }) => user_id <= after)];
}

const countRuns = prepared((q: Queries, { userId }: { userId: number }) =>
  q.build
    .selectFrom('conversations')
    .select((e) => e.fn.countAll<number>().as('runs'))
    .where('user_id', '=', userId)
    .where('run_id', 'is not', null),
);

/**
 * Whether the user may have another run, which stays so until the transaction ends. Waits for the lock of one user only:
 * two claims that lock several users in different orders would wait for each other.
 */
function* mayRun(q: Queries, userId: number, mayWait: boolean, userRunsMax: number): Steps<boolean> {
  // SQLite has only one writer, so the number is still what it was.
  if (q.kind === 'sqlite') return true;
  if (mayWait) yield* lockUsers(q, [userId]);
  else if (!(yield* tryLockUser(q, userId))) return false;
  return Number((yield* one(countRuns(q, { userId })))?.runs ?? 0) < userRunsMax;
}

/** Takes the user's oldest conversation that no other transaction is changing. */
const takeOldest = prepared((q: Queries, claim: Claim & { userId: number }) =>
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
    .where(
      'key',
      '=',
      sql<number>`(
        select key from conversations
        where user_id between ${claim.userId} and ${claim.userId} and run_id is null and status <> 'STOPPED'
        order by user_id, key limit 1 ${q.kind === 'postgres' ? sql`for no key update skip locked` : sql``})`,
    )
    .returning([
      ...claimedColumns,
      ...readAllUsage(q.kind),
      sql<number>`${q.now} - updated_at`.as('waited_ms'),
    ]),
);

/** Undefined if each of the users is at the limit, or others are just changing all that waits. */
function* takeFrom(q: Queries, claim: Claim, users: readonly WaitingUser[], isFirst: boolean) {
  const { userRunsMax } = claim;
  const mayTry = users.filter(({ runs }) => userRunsMax === 0 || runs < userRunsMax);
  const fair = mayTry.toSorted((a, b) => a.runs - b.runs || a.key - b.key);
  for (const user of fair) {
    const { user_id: userId } = user;
    if (userRunsMax > 0 && !(yield* mayRun(q, userId, isFirst && user === fair[0], userRunsMax))) continue;
    const taken = yield* one(takeOldest(q, { ...claim, userId }));
    if (taken !== undefined) return taken;
  }
  return undefined;
}

/**
 * Claims the oldest waiting conversation of the user with the fewest runs. If its status is RUNNING, its previous run
 * was lost. Returns undefined if none waits, or if every user who waits is at the limit.
 */
export const claimConversation = write('runtime.claim', function* (q, claim: Claim): Steps<
  ClaimedConversation | undefined
> {
  const seen = new Set<number>();
  for (let after = claim.usersAfter ?? 0; ; ) {
    const round = yield* listRound(q, after);
    const users = round.filter(({ user_id }) => !seen.has(user_id));
    if (users.length === 0) return undefined;
    const taken = yield* takeFrom(q, claim, users, seen.size === 0);
    const areMore = round.length === comparedUsersMax;
    if (taken !== undefined)
      return {
        ...taken,
        status: taken.status as ConversationStatus,
        usersAfter: areMore ? taken.user_id : 0,
      };
    if (!areMore) return undefined;
    for (const { user_id } of users) seen.add(user_id);
    after = users.at(-1)?.user_id ?? 0;
  }
});

export const claimTransactions = [claimConversation];
