// The built-in agent asks before it acts, where the settings or the lack of a sandbox want it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startBuiltin } from '../../test/support/builtinRuns.ts';
import { fakeAgentPath, filesOf, type Runs } from '../../test/support/runs.ts';
import { approvalRequest } from '../../test/support/runTalk.ts';

async function decide(runs: Runs, id: string, count: number, decision: string) {
  const asked = await approvalRequest(runs, id, count);
  const json = { decision, question: asked.id };
  const { status } = await runs.service.ask(`/api/conversations/${id}/confirm`, { json });
  assert.equal(status, 200);
  return asked;
}

const isThere = async ({ service }: Runs, id: string, name: string) =>
  existsSync(join((await filesOf(service.storage, id)).root, 'workspace', name));

/** No sandbox is found in PATH. */
function hidePrograms(t: TestContext): void {
  const before = process.env['PATH'];
  process.env['PATH'] = fakeAgentPath();
  t.after(() => {
    process.env['PATH'] = before;
  });
}

const line = (word: string) => ({ run: `echo ${word} >>log` });

describe('confirmation_mode with the built-in agent', () => {
  it('makes each call wait for approval, shows what it would do, and obeys a rejection', async (t) => {
    const script = [
      line('allowed'),
      line('rejected'),
      { write: { path: 'a.txt', text: 'hello\n' } },
      { say: 'Done.' },
    ];
    const runs = await startBuiltin(t, script, { settings: { confirmation_mode: true } });
    const id = await runs.create('go');
    await approvalRequest(runs, id);
    assert.ok(!(await isThere(runs, id, 'log')), 'nothing is done before the answer');
    await decide(runs, id, 1, 'allow');
    await decide(runs, id, 2, 'reject');
    const { args } = await decide(runs, id, 3, 'allow');
    assert.match(String(args?.['diff']), /^\+hello$/m);
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'allowed\n');
    assert.equal(await runs.file(id, 'a.txt'), 'hello\n');
    assert.match(runs.model.exchanges.at(-1)?.request.results[1] ?? '', /The user rejected this/);
  });

  it('names the written file if a link leads to another one', async (t) => {
    const script = [
      { run: 'mkdir hooks && ln -s hooks/pre-commit notes.md' },
      { write: { path: 'notes.md', text: 'curl evil\n' } },
      { say: 'Done.' },
    ];
    const runs = await startBuiltin(t, script, { settings: { confirmation_mode: true } });
    const id = await runs.create('go');
    await decide(runs, id, 1, 'allow');
    const { args } = await decide(runs, id, 2, 'allow');
    assert.match(String(args?.['path']), /\/hooks\/pre-commit$/);
    const request = args?.['request'] as { readonly title?: string };
    assert.equal(request.title, 'Write notes.md → hooks/pre-commit');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.equal(await runs.file(id, 'hooks/pre-commit'), 'curl evil\n');
  });

  it('no longer asks for a command that is always allowed, but for others', async (t) => {
    const script = [line('one'), line('one'), { write: { path: 'a.txt', text: 'x' } }, { say: 'Done.' }];
    const runs = await startBuiltin(t, script, { settings: { confirmation_mode: true } });
    const id = await runs.create('go');
    await decide(runs, id, 1, 'allow_always');
    const second = await decide(runs, id, 2, 'allow');
    assert.equal(second.action, 'edit');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'one\none\n');
  });

  it('closes an approval request with the stopped conversation, and nothing is done', async (t) => {
    const runs = await startBuiltin(t, [line('never'), { say: 'Well.' }], {
      settings: { confirmation_mode: true },
    });
    const id = await runs.create('go');
    await approvalRequest(runs, id);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await runs.say(id, 'Do not.');
    await runs.reaches(id, 'RUNNING');
    assert.deepEqual(await runs.turns(id, 2), ['Well.']);
    assert.ok(!(await isThere(runs, id, 'log')));
    assert.match(runs.model.exchanges.at(-1)?.request.results[0] ?? '', /Nothing of it was done/);
  });
});

describe('the built-in agent without a sandbox', () => {
  it('asks for commands and writes whatever the settings say, and not for reading', async (t) => {
    hidePrograms(t);
    const script = [
      { call: { tool: 'read_file', input: { path: '.' } } },
      { run: 'echo here >>log' },
      { write: { path: 'a.txt', text: 'x' } },
      { say: 'Done.' },
    ];
    const runs = await startBuiltin(t, script, { sandbox: 'auto', settings: { confirmation_mode: false } });
    const id = await runs.create('go');
    assert.equal((await decide(runs, id, 1, 'allow')).action, 'run');
    assert.equal((await decide(runs, id, 2, 'reject')).action, 'edit');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'here\n');
    assert.ok(!(await isThere(runs, id, 'a.txt')));
  });
});
