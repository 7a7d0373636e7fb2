// What the log gets when a run ends that could not write it itself.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import type { DatabaseKind } from '../db/transaction.ts';
import { agentStateChanged, eventText } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { ensureUser } from '../users/store.ts';
import { createConversation } from './create/store.ts';
import { stopConversation } from './lifecycle/store.ts';
import { claimConversation } from './run/claimStore.ts';
import { recordRun, releaseRun } from './run/store.ts';
import { stopReason } from './states.ts';

const at = '2026-01-31T12:00:00.000Z';
const name = { id: 'a1', at };

async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, name.id));
  let runs = 0;
  let step = 0;
  const runId = () => `run ${runs}`;
  const keyOf = async () => Number((await inspect(database, 'select key from conversations'))[0]?.['key']);
  return {
    claim: async () => {
      runs += 1;
      step = 0;
      const claim = { runId: runId(), owner: 'worker', leaseMs: 60_000, userRunsMax: 0 };
      return database.run(claimConversation, claim);
    },
    record: async (events: readonly NewEvent[], more = {}) => {
      const texts = events.map((event) => eventText(event, at));
      const record = { key: await keyOf(), runId: runId(), step: ++step, events: texts, at, ...more };
      assert.notEqual(await database.run(recordRun, record), undefined);
    },
    stop: () => database.run(stopConversation, { ...name, userId, reason: stopReason('user'), events: [] }),
    release: async () => database.run(releaseRun, { key: await keyOf(), runId: runId(), at }),
    /** From that id on, in short. */
    log: async (from: number) => {
      const rows = await inspect(database, `select json from event_log where id >= ${from} order by id`);
      return rows.map(({ json }) => {
        const { observation, tool_call_id: call, extras = {}, cause } = JSON.parse(String(json));
        const told = [observation, call ?? extras.notice_id, extras.outcome, cause];
        return told.filter((one) => one !== undefined);
      });
    },
  };
}

function action(call: string, more: object = {}): NewEvent {
  const args = { command: 'npm test', thought: '' };
  return { source: 'agent', message: call, action: 'run', args, tool_call_id: call, ...more };
}

function observation(call: string): NewEvent {
  const extras = { command: 'npm test', metadata: { exit_code: 0 }, outcome: 'completed' as const };
  return { source: 'agent', message: '', observation: 'run', content: '', extras, tool_call_id: call };
}

const running = agentStateChanged('running');
const turn = { progress: { turn_open: 1, turn_from: 0, heard: 1 } };

for (const kind of databaseKinds)
  describe(`the end of a run on ${kind}`, () => {
    it('in the middle of a turn ends what is open, in order, and tells of it once', async (t) => {
      const { claim, record, release, log } = await setUp(kind, t);
      await claim();
      await record([], { to: 'RUNNING' });
      await record([running], turn);
      await record([
        action('done'),
        observation('done'),
        action('first'),
        action('tool', { action: 'call_tool_mcp', args: { name: 's/t', arguments: {} } }),
        action('replayed', { replayed: true }),
        // Announced, and then asked for.
        action('first', { args: { command: 'npm test', confirmation_state: 'confirmed' } }),
      ]);
      assert.equal(await release(), true);
      assert.deepEqual(await log(8), [
        ['mcp', 'tool', 'unfinished', 5],
        ['run', 'first', 'unfinished', 7],
        ['notice', 'INTERRUPTED'],
      ]);
      // The one that takes over ends before it has done anything.
      await claim();
      await release();
      assert.equal((await log(8)).length, 3);
      // It goes on, and is interrupted again.
      await claim();
      await record([running, action('again')], turn);
      await release();
      assert.deepEqual(await log(13), [
        ['run', 'again', 'unfinished', 12],
        ['notice', 'INTERRUPTED'],
      ]);
    });

    it('that its user had stopped ends what is open, and is no interruption', async (t) => {
      const { claim, record, stop, release, log } = await setUp(kind, t);
      await claim();
      await record([], { to: 'RUNNING' });
      await record([running, action('open')], turn);
      await stop();
      await release();
      assert.deepEqual(await log(3), [['run', 'open', 'unfinished', 2]]);
    });

    it('outside of a turn adds nothing', async (t) => {
      const { claim, record, release, log } = await setUp(kind, t);
      await claim();
      await record([], { to: 'RUNNING' });
      await record([running, action('open')], turn);
      await record([observation('open')], { progress: { turn_from: null } });
      await record([agentStateChanged('awaiting_user_input')], { progress: { turn_open: 0 } });
      await release();
      assert.equal((await log(0)).length, 5);
    });
  });
