// Chooses idle runs that end because others wait for their slots. A conversation that is reserved for a machine can only
// use a slot there.
import { sql } from 'kysely';
import { one, type Queries, read, rows, type Steps } from '../../db/transaction.ts';
import { countWaitingSteps } from '../create/waitingStore.ts';
import { isWaiting, ofReserved, reservedOrder, withWaitingUsers } from '../waitingUsers.ts';
import { overdue, type SweepTimes } from './store.ts';

interface IdleRun {
  readonly key: number;
  readonly user_id: number;
  readonly workspace_node: string | null;
}

/** Runs that were told to stop, so that their slots will be free soon. */
interface Ending {
  readonly ending: number;
  /** The ones among them that are on the machine of the calling process. */
  readonly endingHere: number;
}

interface UserRuns extends Ending {
  readonly all: number;
}

function* countRuns(q: Queries, nodeId: string): Steps<ReadonlyMap<number, UserRuns>> {
  const counted = yield* rows(
    q.build
      .selectFrom('conversations')
      .select((e) => [
        'user_id',
        e.fn.countAll<number>().as('all'),
        e.fn.count<number>('wanted').as('ending'),
        sql<number>`count(case when workspace_node = ${nodeId} then wanted end)`.as('endingHere'),
      ])
      .where('run_id', 'is not', null)
      .groupBy('user_id'),
  );
  return new Map(
    counted.map(({ user_id, all, ending, endingHere }) => [
      user_id,
      { all: Number(all), ending: Number(ending), endingHere: Number(endingHere) },
    ]),
  );
}

interface StarvingQuery {
  readonly waitedMs: number;
  readonly reservedFor: string;
  /** The count stops here. */
  readonly max: number;
}

/** Counts users without any run who wait. Reads no more users than run or are counted. */
function* countStarving(q: Queries, { waitedMs, reservedFor, max }: StarvingQuery): Steps<number> {
  const query = sql<{ count: number }>`
    ${withWaitingUsers}
    select count(*) as count from (
      select user_id from waiting
      where user_id not in (select user_id from conversations where run_id is not null)
        and (select key from conversations
          where ${ofReserved(sql.ref('waiting.user_id'), reservedFor)} and ${isWaiting}
            and updated_at <= ${q.now} - ${waitedMs}
          order by ${reservedOrder} limit 1) is not null
      limit ${max}) as starving`;
  const found = yield* one({ compile: () => query.compile(q.build) });
  return Number(found?.count ?? 0);
}

interface Waiting extends Ending {
  /** How many conversations wait that any machine may take. */
  readonly anywhere: number;
  /** How many are reserved for this machine. */
  readonly here: number;
}

/** Chooses runs for those that wait and get none of the slots that will be free soon. */
function choose(idle: readonly IdleRun[], nodeId: string, waiting: Waiting): IdleRun[] {
  const { anywhere, here, ending, endingHere } = waiting;
  const used = Math.min(here, endingHere);
  const chosenHere = idle.filter((run) => run.workspace_node === nodeId).slice(0, here - used);
  const others = idle.filter((run) => !chosenHere.includes(run));
  return [...chosenHere, ...others.slice(0, Math.max(0, anywhere - (ending - used)))];
}

interface RoomQuery {
  readonly times: SweepTimes;
  readonly max: number;
  /** Whether the worker of the calling process has no free slot. */
  readonly isFull: boolean;
  /** How many runs one user may have at the same time; 0 means no limit. */
  readonly userRunsMax: number;
  /** The machine of the calling process; empty if nothing is reserved for it. */
  readonly nodeId: string;
}

/** Runs of a user whose own conversations wait. A process with free slots acts only if the user is at the limit. */
function* chooseForUser(
  q: Queries,
  { times, isFull, userRunsMax, nodeId }: RoomQuery,
  own: readonly IdleRun[],
  runs: UserRuns,
): Steps<IdleRun[]> {
  const isAtLimit = userRunsMax > 0 && runs.all >= userRunsMax;
  const userId = own[0]?.user_id;
  if ((!isFull && !isAtLimit) || userId === undefined) return [];
  const query = { userId, max: own.length + runs.ending, waitedMs: times.crowdedWaitMs };
  // A user at the limit needs the end of any run.
  if (!isFull) return choose(own, nodeId, { anywhere: yield* countWaitingSteps(q, query), here: 0, ...runs });
  const anywhere = yield* countWaitingSteps(q, { ...query, reservedFor: '' });
  const here = nodeId === '' ? 0 : yield* countWaitingSteps(q, { ...query, reservedFor: nodeId });
  return choose(own, nodeId, { anywhere, here, ...runs });
}

/**
 * Chooses as many idle runs to stop as conversations wait, longest idle first: for others of the same user, then for
 * users without any run. Chooses none while there is a free slot.
 */
export const findRoom = read('sweep.findRoom', function* (q, query: RoomQuery): Steps<number[]> {
  const { times, max, isFull, userRunsMax, nodeId } = query;
  if (!isFull && userRunsMax === 0) return [];
  const idle: IdleRun[] = yield* rows(
    q.build
      .selectFrom('conversations')
      .select(['key', 'user_id', 'workspace_node'])
      .where((e) => overdue(q, e, 'room', times))
      .orderBy('active_at')
      .limit(max),
  );
  if (idle.length === 0) return [];
  const runs = yield* countRuns(q, nodeId);
  const chosen = new Set<IdleRun>();
  for (const [userId, own] of Map.groupBy(idle, (run) => run.user_id)) {
    const counted = runs.get(userId) ?? { all: 0, ending: 0, endingHere: 0 };
    for (const run of yield* chooseForUser(q, query, own, counted)) chosen.add(run);
  }
  const left = idle.filter((run) => !chosen.has(run));
  if (isFull && left.length > 0) {
    const all = [...runs.values()];
    const ending = all.reduce((sum, one) => sum + one.ending, chosen.size);
    const chosenHere = [...chosen].filter((run) => run.workspace_node === nodeId).length;
    const endingHere = all.reduce((sum, one) => sum + one.endingHere, chosenHere);
    const starving = { waitedMs: times.crowdedWaitMs, max: left.length + ending };
    const anywhere = yield* countStarving(q, { ...starving, reservedFor: '' });
    const here = nodeId === '' ? 0 : yield* countStarving(q, { ...starving, reservedFor: nodeId });
    for (const run of choose(left, nodeId, { anywhere, here, ending, endingHere })) chosen.add(run);
  }
  return [...chosen].map(({ key }) => key);
});

export const roomTransactions = [findRoom];
