// Sessions of the built-in agent that are stopped, killed or spoilt: the next message finds what is left of them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { errorsOf, startBuiltin, startBuiltinWith } from '../../test/support/builtinRuns.ts';
import { createStorage } from '../../test/support/databases.ts';
import { filesOf, type Runs } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { createScriptedModel } from '../agents/trial/scriptedModel/server.ts';
import { isRunning, knownProcess } from '../sandbox/processes.ts';

const begun = async ({ service }: Runs, id: string, name: string) => {
  const { root } = await filesOf(service.storage, id);
  const file = join(root, 'workspace', name);
  await until(`${name} is there`, () => existsSync(file) && readFileSync(file, 'utf8') !== '');
  return Number(readFileSync(file, 'utf8'));
};

describe('a conversation with the built-in agent', () => {
  it('that is stopped during a command continues, and knows that it was stopped', async (t) => {
    const script = [
      { run: 'echo first >>log' },
      { run: 'echo second >>log; echo $$ >shell; sleep 60' },
      { say: 'I see.' },
    ];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('go');
    const shell = knownProcess(await begun(runs, id, 'shell'));
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await until('its command is dead', () => !isRunning(shell));
    await until('its end is told', async () =>
      (await runs.events(id)).some(
        ({ extras, content }) => extras?.['outcome'] === 'failed' && content?.includes('stopped by the user'),
      ),
    );
    await runs.say(id, 'What happened?');
    await runs.reaches(id, 'RUNNING');
    assert.deepEqual(await runs.turns(id, 2), ['I see.']);
    assert.equal(await runs.file(id, 'log'), 'first\nsecond\n');
    const { request } = runs.model.exchanges.at(-1) ?? assert.fail();
    assert.match(request.results[1] ?? '', /stopped by the user/);
    assert.match(request.prompt, /What happened\?/);
    assert.doesNotMatch(request.prompt, /<history>|interrupted/);
  });

  it('that a shutdown interrupts continues after the start, and counts as stopped by nobody', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const model = createScriptedModel([{ run: 'echo $$ >shell; sleep 60' }, { say: 'I see.' }]);
    const first = await startBuiltinWith(t, model, { storage });
    const id = await first.create('go');
    await begun(first, id, 'shell');
    await first.service.stop();
    const second = await startBuiltinWith(t, model, { storage });
    assert.deepEqual(await second.turns(id, 2), ['I see.']);
    assert.match(model.exchanges.at(-1)?.request.results[0] ?? '', /outcome is unknown/);
  });

  it('leaves no background command alive when it is stopped', async (t) => {
    const command = 'echo $$ >shell; setsid sh -c "echo \\$\\$ >far; sleep 60" & sleep 60';
    const background = { call: { tool: 'bash', input: { command, background: true } } };
    const runs = await startBuiltin(t, [background, { say: 'It runs.' }]);
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['It runs.']);
    const left = [await begun(runs, id, 'shell'), await begun(runs, id, 'far')].map(knownProcess);
    assert.deepEqual(left.map(isRunning), [true, true]);
    await runs.stop(id);
    await until('all of it is dead', () => !left.some(isRunning));
  });

  it('whose agent is killed stops, says so, and continues with the next message', async (t) => {
    const script = [
      { run: 'echo first >>log' },
      { run: 'echo second >>log; echo $$ >shell; echo $PPID >agent; sleep 60' },
      { say: 'I see.' },
    ];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('go');
    const agent = await begun(runs, id, 'agent');
    const shell = knownProcess(await begun(runs, id, 'shell'));
    process.kill(agent, 'SIGKILL');
    const { stop_reason: reason } = await runs.reaches(id, 'STOPPED');
    assert.deepEqual(reason, { code: 'agent_error', message: 'The agent was ended by SIGKILL.' });
    await until('its command is dead', () => !isRunning(shell));
    const [error] = errorsOf(await runs.events(id));
    assert.equal(error, 'AGENT_ERROR: The agent was ended by SIGKILL.');
    await runs.say(id, 'Go on.');
    await runs.reaches(id, 'RUNNING');
    assert.deepEqual(await runs.turns(id, 2), ['I see.']);
    assert.equal(await runs.file(id, 'log'), 'first\nsecond\n');
    const { request } = runs.model.exchanges.at(-1) ?? assert.fail();
    assert.match(request.results[1] ?? '', /outcome is unknown/);
  });

  it('whose journal is damaged continues in a new session, with the history of the log', async (t) => {
    const script = [{ run: 'echo first >>log' }, { say: 'One.' }, { say: 'Two.' }];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('Remember the milk.');
    await runs.turns(id, 1);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    const { home } = await filesOf(runs.service.storage, id);
    const folder = join(home, '.parley-agent/sessions');
    const [name = ''] = readdirSync(folder);
    writeFileSync(join(folder, name), '{"message":{"role":"king","content":[]}}\nnonsense\n');
    await runs.say(id, 'And now?');
    await runs.reaches(id, 'RUNNING');
    await runs.turns(id, 2);
    const { request } = runs.model.exchanges.at(-1) ?? assert.fail();
    assert.match(request.prompt, /<history>\nUser: Remember the milk\.\n\nYou ran: echo first >>log/);
    assert.match(request.prompt, /And now\?/);
  });
});
