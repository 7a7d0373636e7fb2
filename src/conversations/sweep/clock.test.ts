import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { systemClock } from '../../process/clock.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { createClockWatch } from './clock.ts';
import { createSweep, defaultTimes } from './service.ts';

const hourMs = 60 * 60_000;
const times = ['lease_until', 'claimed_at', 'active_at', 'updated_at'];

describe('the watch of the clock', () => {
  function watch() {
    let steady = 0;
    const clock = createClockWatch(() => steady);
    return {
      clock,
      /** A reading that took so long. */
      see: (wall: number, tookMs = 0) => {
        const before = steady;
        steady += tookMs;
        return clock.see({ wall, before, after: steady });
      },
      pass: (ms: number) => {
        steady += ms;
      },
    };
  }

  it('notices a clock that is set, forwards and back', () => {
    for (const byMs of [2 * hourMs, -2 * hourMs, 1_500, -1_500]) {
      const { clock, see, pass } = watch();
      assert.equal(see(10_000), false);
      pass(1_000);
      assert.equal(see(11_000), false);
      pass(1_000);
      assert.equal(see(12_000 + byMs), true, `${byMs} ms`);
      assert.equal(clock.steadyForMs(), 0);
      pass(1_000);
      assert.equal(see(13_000 + byMs), false);
      assert.equal(clock.steadyForMs(), 1_000);
    }
  });

  it('does not take a slow answer of the database for one', () => {
    const { clock, see, pass } = watch();
    see(10_000);
    // Read at the beginning of a long answer, then at the end of one.
    assert.equal(see(10_000, 30_000), false);
    assert.equal(see(70_000, 30_000), false);
    pass(1_000);
    assert.equal(see(71_000), false);
    assert.equal(clock.steadyForMs(), 61_000);
  });
});

/** A sweep whose clocks the test moves, and conversations that it looks at. */
async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  let steady = 0;
  const beganAt = Date.now();
  let offset = 0;
  let told = 0;
  const sweep = createSweep({
    isFull: () => true,
    userRunsMax: 0,
    database,
    onBackgroundError: assert.ifError,
    onClockSet: () => {
      told += 1;
    },
    readWall: async () => beganAt + offset + steady,
    clock: { ...systemClock, steady: () => steady },
    times: { ...defaultTimes, crowdedIdleMs: hourMs },
  });
  // It looks only when the test says so.
  await sweep.close();
  const shift = (columns: readonly string[], ms: number, where = 'true') =>
    inspect(
      database,
      `update conversations set ${columns.map((name) => `${name} = ${name} + ${ms}`).join(', ')} where ${where}`,
    );
  return {
    sweep: sweep.sweep,
    told: () => told,
    put: async (id: string, run: boolean) => {
      await database.run(createConversation, newConversation(userId, id));
      const now = Date.now();
      if (run)
        await inspect(
          database,
          `update conversations set status = 'RUNNING', run_id = '${id}', owner = 'worker', lease_until = ${now + 8_000},
             claimed_at = ${now}, active_at = ${now}, runtime_status = ${id === 'starts' ? "'starting'" : 'null'}
             where id = '${id}'`,
        );
    },
    /** As if the clock had been set by this: all that is stored is as far from now as it was from the clock before. */
    setClock: async (byMs: number) => {
      offset += byMs;
      await shift(times, -byMs);
    },
    /** The same, and the sweep still reads what the clock said before. */
    setClockAfterReading: async (byMs: number) => {
      offset = -byMs - steady;
      await shift(times, -byMs);
    },
    renew: (id: string) =>
      inspect(database, `update conversations set lease_until = ${Date.now() + 8_000} where id = '${id}'`),
    pass: (ms: number) => {
      steady += ms;
    },
    states: async () => {
      const rows = await inspect(database, 'select id, status, run_id from conversations order by id');
      return Object.fromEntries(rows.map(({ id, status, run_id }) => [id, [status, run_id]]));
    },
    ahead: async () =>
      inspect(
        database,
        `select id from conversations where updated_at > ${Date.now() + 60_000} or active_at > ${Date.now() + 60_000}`,
      ),
  };
}

for (const kind of databaseKinds)
  describe(`the sweep on ${kind} where the clock is set`, () => {
    for (const byMs of [3 * hourMs, -3 * hourMs])
      it(`leaves runs alone that live, and frees those that are dead: ${byMs / hourMs} hours`, async (t) => {
        const { sweep, put, setClock, renew, pass, states, told, ahead } = await setUp(kind, t);
        await put('lives', true);
        await put('dead', true);
        await put('waits', false);
        await sweep();
        pass(1_000);
        await setClock(byMs);
        await sweep();
        const asBefore = {
          dead: ['RUNNING', 'dead'],
          lives: ['RUNNING', 'lives'],
          waits: ['STARTING', null],
        };
        assert.deepEqual(await states(), asBefore, 'neither idle nor dead');
        assert.equal(told(), 1);
        assert.deepEqual(await ahead(), [], 'no time of the past lies ahead');
        await renew('lives');
        pass(7_000);
        await sweep();
        assert.deepEqual(await states(), asBefore);
        pass(2_000);
        await sweep();
        assert.deepEqual(await states(), { ...asBefore, dead: ['RUNNING', null] });
        assert.equal(told(), 1);
      });

    for (const byMs of [3 * hourMs, -3 * hourMs])
      it(`leaves runs alone where it is set right after it was read: ${byMs / hourMs} hours`, async (t) => {
        const { sweep, put, setClockAfterReading, pass, states } = await setUp(kind, t);
        pass(10_000);
        await put('lives', true);
        await put('starts', true);
        await setClockAfterReading(byMs);
        await put('later', true);
        const before = await states();
        await sweep();
        assert.deepEqual(await states(), before);
      });

    it('frees what a dead run locked where the clock was set back while nobody watched', async (t) => {
      const { sweep, put, setClock, renew, pass, states, ahead } = await setUp(kind, t);
      await put('lives', true);
      await put('dead', true);
      await setClock(-3 * hourMs);
      await sweep();
      assert.deepEqual(await ahead(), []);
      await renew('lives');
      pass(9_000);
      await sweep();
      assert.deepEqual(await states(), { dead: ['RUNNING', null], lives: ['RUNNING', 'lives'] });
    });
  });
