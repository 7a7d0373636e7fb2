import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect, type Row } from '../../../test/support/inspect.ts';
import { createManualClock } from '../../../test/support/manualClock.ts';
import { until } from '../../../test/support/until.ts';
import { workTopic } from '../../db/topics.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { createSweep, defaultTimes } from './service.ts';
import { releaseAll, type SweepTimes } from './store.ts';

const hourMs = 60 * 60_000;
const long = 24 * hourMs;
/** Nothing is overdue by these but what a test makes so. */
const patient: SweepTimes = {
  startStalledMs: long,
  startMs: long,
  idleMs: long,
  crowdedIdleMs: long,
  crowdedWaitMs: 0,
  crowdedAskingMs: long,
};
/** Whatever happened is too long ago. */
const overdueMs = -hourMs;

type State = Readonly<Record<string, string | number | null>>;

/** A conversation that a run holds, whose lease is good. */
function running(more: State = {}): State {
  const now = Date.now();
  return {
    status: 'RUNNING',
    run_id: 'run',
    owner: 'worker',
    lease_until: now + long,
    claimed_at: now,
    active_at: now,
    ...more,
  };
}

function literal(value: string | number | null): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

type TestDatabase = Awaited<ReturnType<typeof openTestDatabase>>;

/** The database, empty, and what a test does with it. */
async function clear(database: TestDatabase) {
  for (const table of ['conversations', 'events', 'changes']) await inspect(database, `delete from ${table}`);
  const notified: string[] = [];
  database.onNotification((topics) => notified.push(...topics));

  async function create(user: string, id: string): Promise<void> {
    const { id: userId } = await database.run(ensureUser, user);
    await database.run(createConversation, newConversation(userId, id));
  }

  async function change(where: string, state: State): Promise<void> {
    const set = Object.entries(state).map(([column, value]) => `${column} = ${literal(value)}`);
    await inspect(database, `update conversations set ${set.join(', ')} where ${where}`);
  }

  async function put(user: string, id: string, state?: State): Promise<void> {
    await create(user, id);
    if (state !== undefined) await change(`id = '${id}'`, state);
  }

  /** So many that run, of one user. */
  async function putMany(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, i) => create('ada', `idle ${i}`)));
    await change('true', running());
  }

  const stored = () => inspect(database, 'select * from conversations order by id');
  const statuses = async () =>
    Object.fromEntries((await stored()).map((row) => [row['id'], row['stop_code'] ?? row['status']]));

  async function sweep(times: Partial<SweepTimes>, slots = { isFull: true, userRunsMax: 0 }): Promise<void> {
    const one = createSweep({
      database,
      isFull: () => slots.isFull,
      userRunsMax: slots.userRunsMax,
      onBackgroundError: assert.ifError,
      times: { ...patient, ...times },
    });
    await one.sweep();
    await one.close();
  }

  return { database, notified, put, putMany, stored, statuses, sweep };
}

async function rowOf(stored: () => Promise<Row[]>, id: string): Promise<Row | undefined> {
  return (await stored()).find((row) => row['id'] === id);
}

for (const kind of databaseKinds) {
  describe(`the sweep on ${kind}`, () => {
    let opened: TestDatabase;
    const closers: (() => Promise<void>)[] = [];
    before(async () => {
      opened = await openTestDatabase(kind, { after: (close) => void closers.push(close) });
    });
    after(async () => {
      for (const close of closers) await close();
    });

    it('touches nothing that is in time', async () => {
      const { put, stored, sweep, notified } = await clear(opened);
      await put('ada', 'runs', running());
      await put('ada', 'starts', running({ status: 'STARTING' }));
      await put('ada', 'ends', running({ status: 'STOPPED', wanted: 'stop' }));
      await put('ada', 'waits');
      await put('ada', 'stopped', { status: 'STOPPED', stop_code: 'user' });
      const before = await stored();
      await sweep(defaultTimes);
      assert.deepEqual(await stored(), before);
      assert.deepEqual(notified, []);
    });

    it('frees what a dead run locked, rings for it, keeps its status and forgets that it was to end', async () => {
      const { put, stored, sweep, notified } = await clear(opened);
      const past = { lease_until: Date.now() - 1 };
      await put('ada', 'died', running(past));
      await put('ada', 'died starting', running({ ...past, status: 'STARTING' }));
      await put('ada', 'died ending', running({ ...past, status: 'STOPPED', wanted: 'stop' }));
      await put('ada', 'lives', running());
      const before = await rowOf(stored, 'lives');
      await sweep({});
      const free = { run_id: null, owner: null, lease_until: null, claimed_at: null, active_at: null };
      for (const [id, status] of [
        ['died', 'RUNNING'],
        ['died starting', 'STARTING'],
        ['died ending', 'STOPPED'],
      ] as const) {
        const row = await rowOf(stored, id);
        assert.deepEqual({ ...row, ...free, wanted: null, status }, { ...row }, id);
        assert.equal(Number(row?.['next_event']), 1);
      }
      assert.deepEqual(await rowOf(stored, 'lives'), before);
      assert.equal(notified.filter((topic) => topic === workTopic).length, 3);
    });

    it('frees all at once where one process has the database alone and begins anew', async () => {
      const { put, stored } = await clear(opened);
      await put('ada', 'starts', running({ status: 'STARTING' }));
      await put('bob', 'runs', running());
      await put('bob', 'waits');
      assert.equal(await opened.run(releaseAll, { at: new Date().toISOString() }), 2);
      assert.deepEqual(
        (await stored()).map(({ run_id, lease_until, status }) => [run_id, lease_until, status]),
        [
          [null, null, 'RUNNING'],
          [null, null, 'STARTING'],
          [null, null, 'STARTING'],
        ],
      );
    });

    it('stops what does not get on while it starts, or takes too long in all', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      const starting = (more: State) => running({ status: 'STARTING', ...more });
      await put('ada', 'stalled', starting({ active_at: old }));
      await put('ada', 'slow', starting({ claimed_at: old }));
      await put('ada', 'told to end', starting({ active_at: old, claimed_at: old, wanted: 'stop' }));
      await put('ada', 'runs', running({ active_at: old, claimed_at: old }));
      await put('ada', 'in time', starting({}));
      await put('ada', 'waits');
      const all = {
        'in time': 'STARTING',
        runs: 'RUNNING',
        slow: 'STARTING',
        stalled: 'STARTING',
        'told to end': 'STARTING',
        waits: 'STARTING',
      };
      await sweep({ startStalledMs: hourMs });
      assert.deepEqual(await statuses(), { ...all, stalled: 'start_timeout' });
      await sweep({ startMs: hourMs });
      assert.deepEqual(await statuses(), { ...all, stalled: 'start_timeout', slow: 'start_timeout' });
    });

    it('makes room for a user who waits and has no run at all, with those that have been idle longest', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      await put('ada', 'ada idle', running({ active_at: old }));
      await put('ada', 'ada idle later', running({ active_at: old + 1 }));
      await put('ada', 'ada busy', running());
      await put('bob', 'bob runs', running());
      await put('bob', 'bob waits');
      await sweep({ crowdedIdleMs: hourMs });
      assert.equal((await statuses())['ada idle'], 'RUNNING');
      await put('eve', 'eve waits');
      await put('eve', 'eve waits, too');
      await sweep({ crowdedIdleMs: hourMs });
      await sweep({ crowdedIdleMs: hourMs });
      const now = await statuses();
      assert.deepEqual(
        [now['ada idle'], now['ada idle later'], now['ada busy'], now['bob runs']],
        ['idle', 'RUNNING', 'RUNNING', 'RUNNING'],
      );
    });

    it('makes room for as many of a user as wait, and for no more while those it stopped still end', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      for (let i = 0; i < 5; i++) await put('ada', `idle ${i}`, running({ active_at: old + i }));
      for (let i = 0; i < 2; i++) await put('ada', `waits ${i}`);
      for (let i = 0; i < 3; i++) await sweep({ crowdedIdleMs: hourMs });
      const now = await statuses();
      assert.deepEqual(
        Array.from({ length: 5 }, (_, i) => now[`idle ${i}`]),
        ['idle', 'idle', 'RUNNING', 'RUNNING', 'RUNNING'],
      );
    });

    const busy: readonly [string, State][] = [
      ['in a turn', { turn_open: 1 }],
      ['whose agent asks', { turn_open: 1, question: 1 }],
      ['with a message that its agent was not given yet', { said: 1, heard: 0 }],
      ['that goes on after its worker was lost', { runtime_status: 'STATUS$STARTING_AGENT' }],
      ['that starts', { status: 'STARTING' }],
    ];
    for (const [name, state] of busy)
      it(`stops none to make room ${name}`, async () => {
        const { put, statuses, sweep } = await clear(opened);
        const old = Date.now() - 2 * hourMs;
        await put('ada', 'busy', running({ active_at: old, claimed_at: old, ...state }));
        await put('ada', 'waits');
        await put('eve', 'eve waits');
        await sweep({ crowdedIdleMs: 0 });
        assert.equal((await statuses())['busy'], state['status'] ?? 'RUNNING');
      });

    it('stops as finished what nobody has followed for so long since its agent was done', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      const done = { active_at: old, heard: 3, said: 3 };
      await put('ada', 'never followed', running(done));
      await put('ada', 'followed before', running({ ...done, followed_at: old }));
      await put('ada', 'followed', running({ ...done, followed_at: Date.now() }));
      await put('ada', 'active', running({ heard: 3, said: 3 }));
      await put('ada', 'in a turn', running({ ...done, turn_open: 1 }));
      await put('ada', 'asks', running({ ...done, turn_open: 1, question: 2 }));
      await put('ada', 'has a message', running({ ...done, said: 4 }));
      await put('ada', 'had no turn', running({ ...done, heard: 0, said: 0 }));
      await sweep({});
      assert.equal((await statuses())['never followed'], 'RUNNING');
      await sweep({ unattendedMs: hourMs });
      assert.deepEqual(await statuses(), {
        'never followed': 'finished',
        'followed before': 'finished',
        followed: 'RUNNING',
        active: 'RUNNING',
        'in a turn': 'RUNNING',
        asks: 'RUNNING',
        'has a message': 'RUNNING',
        'had no turn': 'RUNNING',
      });
    });

    it('stops none for what a worker may have room for: it has not waited long enough', async () => {
      const { put, statuses, sweep } = await clear(opened);
      await put('ada', 'idle', running({ active_at: Date.now() - hourMs, heard: 3, said: 3 }));
      await put('ada', 'waits');
      await put('eve', 'eve waits');
      await sweep({ crowdedIdleMs: 0, crowdedWaitMs: hourMs });
      assert.equal((await statuses())['idle'], 'RUNNING');
      await sweep({ crowdedIdleMs: 0 });
      assert.equal((await statuses())['idle'], 'idle');
    });

    it('looks on its own once a second, by the clock it is given', async () => {
      const { database, put, statuses } = await clear(opened);
      await put('ada', 'idle', running({ active_at: Date.now() - 2 * hourMs }));
      const clock = createManualClock();
      const sweep = createSweep({
        database,
        isFull: () => false,
        userRunsMax: 0,
        onBackgroundError: assert.ifError,
        times: { ...patient, idleMs: hourMs },
        clock,
      });
      clock.advance(999);
      assert.equal((await statuses())['idle'], 'RUNNING');
      clock.advance(1);
      await until('it was stopped', async () => (await statuses())['idle'] === 'idle');
      await sweep.close();
      assert.equal(clock.timers(), 0);
    });

    it('stops none while the worker has a free slot and the user may have more runs', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      for (let i = 0; i < 2; i++) await put('ada', `idle ${i}`, running({ active_at: old + i }));
      await put('ada', 'waits');
      await put('eve', 'eve waits');
      for (const userRunsMax of [0, 3]) await sweep({ crowdedIdleMs: 0 }, { isFull: false, userRunsMax });
      assert.equal((await statuses())['idle 0'], 'RUNNING');
      for (let i = 0; i < 2; i++) await sweep({ crowdedIdleMs: 0 }, { isFull: false, userRunsMax: 2 });
      const now = await statuses();
      assert.deepEqual([now['idle 0'], now['idle 1']], ['idle', 'RUNNING']);
    });

    it('gives one whose agent asks more time where others wait, and tells that the question has expired', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      await put('ada', 'ada asks', running({ active_at: old, turn_open: 1, question: 1 }));
      await put('ada', 'ada waits');
      await sweep({ crowdedIdleMs: hourMs });
      assert.equal((await statuses())['ada asks'], 'RUNNING');
      await sweep({ crowdedAskingMs: hourMs });
      assert.equal((await statuses())['ada asks'], 'idle');
      const log = await inspect(
        opened,
        "select json from event_log where conversation_key = (select key from conversations where id = 'ada asks') order by id",
      );
      assert.deepEqual(
        log.slice(-2).map(({ json }) => JSON.parse(String(json)).observation),
        ['notice', 'agent_state_changed'],
      );
    });

    it('stops what has been idle, earlier where others of the same user wait', async () => {
      const { put, statuses, sweep } = await clear(opened);
      const old = Date.now() - 2 * hourMs;
      await put('ada', 'ada idle', running({ active_at: old }));
      await put('ada', 'ada busy', running());
      await put('bob', 'bob idle', running({ active_at: old }));
      await put('bob', 'bob busy', running());
      await put('bob', 'bob waits');
      await put('eve', 'eve idle', running({ active_at: old }));
      await put('eve', 'eve stopped', { status: 'STOPPED', stop_code: 'user' });
      await put('eve', 'eve starts', running({ status: 'STARTING' }));
      const all = {
        'ada busy': 'RUNNING',
        'ada idle': 'RUNNING',
        'bob busy': 'RUNNING',
        'bob idle': 'RUNNING',
        'bob waits': 'STARTING',
        'eve idle': 'RUNNING',
        'eve starts': 'STARTING',
        'eve stopped': 'user',
      };
      await sweep({ crowdedIdleMs: hourMs });
      assert.deepEqual(await statuses(), { ...all, 'bob idle': 'idle' });
      await sweep({ idleMs: hourMs });
      assert.deepEqual(await statuses(), {
        ...all,
        'ada idle': 'idle',
        'bob idle': 'idle',
        'eve idle': 'idle',
      });
    });

    it('tells the log, the followers and the run that it stopped it', async () => {
      const { database, put, stored, sweep, notified } = await clear(opened);
      await put('ada', 'idle', running());
      const { id: userId } = await database.run(ensureUser, 'ada');
      await sweep({ idleMs: overdueMs });
      const row = await rowOf(stored, 'idle');
      assert.deepEqual(
        [row?.['status'], row?.['stop_code'], row?.['wanted'], row?.['run_id']],
        ['STOPPED', 'idle', 'stop', 'run'],
      );
      const [event] = await inspect(database, 'select json from event_log where id = 1');
      const { id, extras } = JSON.parse(String(event?.['json']));
      assert.deepEqual([id, extras], [1, { agent_state: 'stopped', reason: row?.['stop_sentence'] }]);
      const changes = await inspect(database, 'select json from changes order by id');
      const { status, stop_reason } = JSON.parse(String(changes.at(-1)?.['json']));
      assert.deepEqual([status, stop_reason.code], ['STOPPED', 'idle']);
      assert.deepEqual(notified.toSorted(), [`c${row?.['key']}`, `u${userId}`]);
    });

    it('stops each once, however many sweep at the same moment', async () => {
      const { database, putMany, sweep, notified } = await clear(opened);
      await putMany(20);
      await Promise.all(Array.from({ length: 4 }, () => sweep({ idleMs: overdueMs })));
      const events = await inspect(database, 'select id from event_log where id > 0');
      const changes = await inspect(database, `select id from changes where json like '%"idle"%'`);
      assert.deepEqual([events.length, changes.length], [20, 20]);
      assert.equal(notified.filter((topic) => topic.startsWith('c')).length, 20);
    });

    it('stops more than one look finds, look after look', async () => {
      const { putMany, statuses, sweep } = await clear(opened);
      await putMany(110);
      const left = async () =>
        Object.values(await statuses()).filter((status) => status === 'RUNNING').length;
      await sweep({ idleMs: overdueMs });
      assert.equal(await left(), 10);
      await sweep({ idleMs: overdueMs });
      assert.equal(await left(), 0);
    });
  });
}
