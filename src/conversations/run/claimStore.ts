// Chooses the next conversation for a process. The user with the fewest runs is first. Conversations that are reserved for
// another machine are left out. The cost grows neither with the conversations that wait nor with those that run, and only
// up to a bound with the users who wait.
import { type RawBuilder, sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationStatus } from '../states.ts';
import { readAllUsage } from '../usage/columns.ts';
import type { UsageColumns } from '../usage/shape.ts';
import { lockUsers, tryLockUser } from '../userLock.ts';
import { isWaiting, nextWaitingUser, ofReserved, reservedOrder } from '../waitingUsers.ts';

/** How many waiting users are compared. If more wait, claims go around all of them. */
export const comparedUsersMax = 100;

interface Claim {
  readonly runId: string;
  /** The claiming process. */
  readonly owner: string;
  /** The machine of the process; undefined if no conversation is reserved for it. */
  readonly nodeId?: string | undefined;
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
  /** As `keptFiles.ts` writes it. */
  readonly workspace_volume: string | null;
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
  'workspace_volume',
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
  /** The user's oldest waiting conversation that is not reserved. */
  readonly unreserved: number | null;
  /** The user's oldest one that is reserved for the machine of the claim. */
  readonly reserved: number | null;
  /** How many conversations of the user run. */
  readonly runs: number;
}

interface UsersQuery {
  readonly after: number;
  readonly max: number;
  readonly nodeId: string;
}

function oldest(reservedFor: string) {
  return sql`(
    select key from conversations where ${isWaiting} and ${ofReserved(sql.ref('waiting.user_id'), reservedFor)}
    order by ${reservedOrder} limit 1)`;
}

/** Waiting users, in the order of their ids. It jumps from user to user in the index instead of reading every row. */
function usersQuery(
  q: Queries,
  { after, max }: UsersQuery,
  reserved: RawBuilder<unknown>,
): Query<WaitingUser> {
  const query = sql<WaitingUser>`
    with recursive waiting (user_id, n) as (
      select ${nextWaitingUser(sql.val(after))}, 1
      union all
      select ${nextWaitingUser(sql.ref('waiting.user_id'))}, n + 1 from waiting where user_id is not null and n < ${max})
    select user_id, ${oldest('')} as unreserved, ${reserved} as reserved,
      (select count(*) from conversations where run_id is not null and user_id = waiting.user_id) as runs
    from waiting where user_id is not null`;
  return { compile: () => query.compile(q.build) };
}

const listUsers = prepared((q: Queries, query: UsersQuery) => usersQuery(q, query, sql`null`));
const listUsersOfMachine = prepared((q: Queries, query: UsersQuery) =>
  usersQuery(q, query, oldest(query.nodeId)),
);

/** The next waiting users after `after`, and from the first one on again after the last one. */
function* listRound(q: Queries, { nodeId = '' }: Claim, after: number): Steps<readonly WaitingUser[]> {
  const max = comparedUsersMax;
  const list = nodeId === '' ? listUsers : listUsersOfMachine;
  const users = yield* rows(list(q, { after, max, nodeId }));
  if (after === 0 || users.length === max) return users;
  const others = yield* rows(list(q, { after: 0, max: max - users.length, nodeId }));
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

interface UserClaim extends Claim {
  readonly userId: number;
  readonly reservedFor: string;
}

/** Takes the user's oldest conversation with this reservation that no other transaction is changing. */
const takeOldest = prepared((q: Queries, claim: UserClaim) =>
  q.build
    .updateTable('conversations')
    .set({
      run_id: claim.runId,
      owner: claim.owner,
      lease_until: sql<number>`${q.now} + ${claim.leaseMs}`,
      claimed_at: q.now,
      active_at: q.now,
      reserved_for: '',
      wanted: null,
      steps: 0,
      claims: sql<number>`claims + 1`,
    })
    .where(
      'key',
      '=',
      sql<number>`(
        select key from conversations
        where ${ofReserved(sql.val(claim.userId), claim.reservedFor)} and run_id is null and status <> 'STOPPED'
        order by ${reservedOrder} limit 1 ${q.kind === 'postgres' ? sql`for no key update skip locked` : sql``})`,
    )
    .returning([
      ...claimedColumns,
      ...readAllUsage(q.kind),
      sql<number>`${q.now} - updated_at`.as('waited_ms'),
    ]),
);

interface Candidate {
  readonly reservedFor: string;
  readonly key: number;
}

/** The oldest conversations of the user that the process may take, the older one first. */
function candidatesOf({ unreserved, reserved }: WaitingUser, { nodeId = '' }: Claim): Candidate[] {
  return [
    ...(unreserved === null ? [] : [{ reservedFor: '', key: unreserved }]),
    ...(reserved === null ? [] : [{ reservedFor: nodeId, key: reserved }]),
  ].toSorted((a, b) => a.key - b.key);
}

/** Undefined if each of the users is at the limit, or others are just changing all that waits. */
function* takeFrom(q: Queries, claim: Claim, users: readonly WaitingUser[], isFirst: boolean) {
  const { userRunsMax } = claim;
  const fair = users
    .filter(({ runs }) => userRunsMax === 0 || runs < userRunsMax)
    .flatMap((user) => {
      const candidates = candidatesOf(user, claim);
      return candidates[0] === undefined ? [] : [{ ...user, candidates, oldest: candidates[0].key }];
    })
    .toSorted((a, b) => a.runs - b.runs || a.oldest - b.oldest);
  for (const user of fair) {
    const { user_id: userId, candidates } = user;
    if (userRunsMax > 0 && !(yield* mayRun(q, userId, isFirst && user === fair[0], userRunsMax))) continue;
    for (const { reservedFor } of candidates) {
      const taken = yield* one(takeOldest(q, { ...claim, userId, reservedFor }));
      if (taken !== undefined) return taken;
    }
  }
  return undefined;
}

/**
 * Claims the oldest waiting conversation of the user with the fewest runs. If its status is RUNNING, its previous run
 * was lost. Returns undefined if none waits that the process may take, or if every user who waits is at the limit.
 */
export const claimConversation = write('runtime.claim', function* (q, claim: Claim): Steps<
  ClaimedConversation | undefined
> {
  const seen = new Set<number>();
  for (let after = claim.usersAfter ?? 0; ; ) {
    const round = yield* listRound(q, claim, after);
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
