import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { defaultTimes } from '../conversations/sweep/service.ts';
import { isRunning } from '../sandbox/processes.ts';

const oneSlot = { PARLEY_SLOTS: '1' };
const missingRepository = { repository: 'nobody/nothing', git_provider: 'github' };

interface Failure {
  readonly when: string;
  readonly options: RunsOptions;
  /** Settings that the service would refuse. */
  readonly document?: string;
  readonly more?: Record<string, unknown>;
  readonly code: string;
  readonly sentence: RegExp;
}

/** Nothing listens there. */
const deadHost = { PARLEY_GIT_HOSTS: 'github=http://127.0.0.1:1' };

const failures: readonly Failure[] = [
  {
    when: 'its agent is not installed',
    options: { settings: { agent: 'absent' } },
    code: 'agent_missing',
    sentence: /The agent absent .*not installed/,
  },
  {
    when: 'nobody knows its agent',
    options: {},
    // An earlier version has stored it.
    document: '{"agent":"nobody"}',
    code: 'agent_missing',
    sentence: /no agent named "nobody".*fake/,
  },
  {
    when: 'its agent crashes at once',
    options: { flags: ['--crash-on-start'] },
    code: 'agent_error',
    sentence: /exit code 1/,
  },
  {
    when: 'its agent says nothing',
    options: { flags: ['--never-initialize'], times: { worker: { initializeMs: 300 } } },
    code: 'agent_error',
    sentence: /did not answer initialize within 0\.3 s/,
  },
  {
    when: 'its repository cannot be had',
    options: { env: deadHost },
    more: missingRepository,
    code: 'workspace_error',
    sentence: /nobody\/nothing|127\.0\.0\.1/,
  },
];

for (const kind of databaseKinds) {
  describe(`a STARTING conversation on ${kind}`, { concurrency: 2 }, () => {
    it('never reports that it waits for input before the agent was given the first message', async (t) => {
      const { service, create, turns } = await startRuns({ kind }, t);
      await turns(await create('say one'), 1);
      const changes = await inspect(service.storage, 'select json from changes order by id');
      const states = changes.map(({ json }) => JSON.parse(String(json)).agent_state as string | null);
      const atWork = states.slice(0, states.lastIndexOf('running') + 1);
      assert.deepEqual(new Set(atWork), new Set([null, 'running']));
      assert.equal(states.at(-1), 'awaiting_user_input');
    });

    it('waits if all slots are taken, says so, and runs when one is free', async (t) => {
      const { create, info, reaches, turns, stop } = await startRuns({ kind, env: oneSlot }, t);
      const first = await create('say one');
      await reaches(first, 'RUNNING');
      const second = await create('say two');
      const waiting = await info(second);
      assert.equal(waiting.status, 'STARTING');
      assert.equal(waiting.start_progress?.step, 'waiting_for_worker');
      await stop(first);
      assert.deepEqual(await turns(second, 1), ['two']);
      assert.equal((await info(second)).runtime_status, 'STATUS$READY');
    });

    it('reports its progress', async (t) => {
      const { create, info } = await startRuns({ kind, flags: ['--slow-start', '60000'] }, t);
      const id = await create('say hello');
      await until('its agent starts', async () => (await info(id)).start_progress?.step === 'starting_agent');
      assert.equal((await info(id)).status, 'STARTING');
    });

    for (const { when, options, document, more, code, sentence } of failures)
      it(`stops if ${when}, and the log says why`, async (t) => {
        const { service, create, reaches, events } = await startRuns({ kind, ...options }, t);
        if (document !== undefined)
          await inspect(service.storage, `update settings set document = '${document}'`);
        const id = await create('say hello', more);
        const { stop_reason: reason } = await reaches(id, 'STOPPED');
        assert.equal(reason?.code, code);
        assert.match(reason.message, sentence);
        const [failed, stopped] = (await events(id)).slice(-2);
        assert.equal(failed?.extras?.['error_id'], code.toUpperCase());
        assert.equal(stopped?.extras?.['agent_state'], 'stopped');
      });

    it('stops with the last output of its agent', async (t) => {
      const { create, reaches, events } = await startRuns({ kind, flags: ['--crash-on-start'] }, t);
      const id = await create();
      await reaches(id, 'STOPPED');
      assert.match((await events(id)).at(-2)?.message ?? '', /told to crash at the start/);
    });

    it('stops when its user stops it, and its agent is dead then', async (t) => {
      const { service, create, reaches, stop, info } = await startRuns(
        { kind, flags: ['--slow-start', '60000'] },
        t,
      );
      const id = await create('say hello');
      const { agents } = await filesOf(service.storage, id);
      const [agent] = await until('its agent starts', () => agents().length === 1 && agents());
      assert.ok(agent !== undefined && isRunning(agent));
      await stop(id);
      assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'user');
      await until('its agent is dead', () => !isRunning(agent));
      assert.equal((await info(id)).status, 'STOPPED');
    });

    it('stops at its deadline', async (t) => {
      const times = { sweep: { ...defaultTimes, startStalledMs: 500 } };
      const { service, create, reaches } = await startRuns({ kind, times, flags: ['--never-initialize'] }, t);
      const id = await create('say hello');
      const { agents } = await filesOf(service.storage, id);
      assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'start_timeout');
      await until('its agent is dead', () => !agents().some(isRunning));
    });
  });
}
