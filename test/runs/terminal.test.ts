// The client commands in a pseudo-terminal, as people see them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { createCommandLine } from '../support/commandLine.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

const noTerminal =
  spawnSync('script', ['-q', '-e', '-c', 'true', '/dev/null']).status === 0
    ? false
    : 'script of util-linux is not here';

async function begin(t: TestContext, options: RunsOptions = {}, env: Record<string, string> = {}) {
  const runs = await startRuns(options, t);
  return { runs, line: createCommandLine(runs.service, t, env) };
}

/** As it is read, without colours and with plain line ends. */
const readable = (text: string) => stripVTControlCharacters(text).replaceAll('\r\n', '\n');

describe('parley in a terminal', { skip: noTerminal }, () => {
  it('shows a whole turn: what was said, run and edited, and what to do next', async (t) => {
    const { line } = await begin(t);
    const message =
      'think Let me see\nplan First;Second\nrun echo hi\nreally-run exit 3\nedit a.txt new\nsay Done.';
    const { code, stdout } = await line.runInTerminal(['new', '--follow', message]);
    assert.equal(code, 0, stdout);
    const text = readable(stdout);
    for (const part of [
      /You: think Let me see/,
      /^Let me see$/m,
      /^Plan\n {2}✓ First\n {2}▸ Second$/m,
      /^\$ echo hi\n {2}hi$/m,
      /^\$ exit 3\n {2}exit code 3$/m,
      /^± edit .*a\.txt$/m,
      /^ {2}\+new$/m,
      /^Agent: Done\.$/m,
      /The agent waits for you: parley send [0-9a-f]{32} /,
    ])
      assert.match(text, part);
    // Colours of our own: of the command, of what was added, of the failure.
    for (const coloured of ['\u001b[36m$', '\u001b[32m+new', '\u001b[31mexit code 3'])
      assert.ok(stdout.includes(coloured), JSON.stringify(stdout));
  });

  it('shows no colours with NO_COLOR', async (t) => {
    const { line } = await begin(t, {}, { NO_COLOR: '1' });
    const { stdout } = await line.runInTerminal(['new', '--follow', 'run echo hi']);
    assert.match(readable(stdout), /\$ echo hi/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
    assert.doesNotMatch(stdout, /\u001b\[[\d;]*m/);
  });

  it('lets nothing through that an agent could control a terminal with', async (t) => {
    const { line } = await begin(t, {}, { NO_COLOR: '1' });
    const evil = 'say a\u001b]52;c;ZXZpbA==\u0007b\u001b[2Jc\u001b]8;;http://evil\u001b\\d\u009b31me\bf';
    const { stdout } = await line.runInTerminal(['new', '--follow', evil]);
    const text = stdout.replaceAll('\r\n', '\n').replaceAll('\r\u001b[K', '\n');
    assert.match(text, /^You: say a␛\]52;c;ZXZpbA==␇b␛.*e␈f\n(?:.*\n)*Agent: a␛\]52;c;ZXZpbA==␇b␛.*e␈f$/m);
    assert.doesNotMatch(text.slice(text.indexOf('You:')), /[^\P{Cc}\n\t]/u);
  });

  it('tells what it does while it starts, in a line that is written over', async (t) => {
    const { line, runs } = await begin(t, { settings: { agent: 'slow' } });
    const running = line.startInTerminal(['new', '--follow', '--id', 'c', 'Hello']);
    await until('what it does', () => running.shown().includes('Starting: starting its agent …'));
    await runs.stop('c');
    const { code, stdout } = await running.ended();
    assert.equal(code, 6);
    assert.ok(stdout.includes('\r\u001b[K'));
    assert.match(readable(stdout), /It has stopped: You stopped it\.\n$/);
  });

  it('leaves the conversation running on Ctrl-C, and says so, 130', async (t) => {
    const { line, runs } = await begin(t);
    const running = line.startInTerminal(['new', '--follow', '--id', 'c', 'run echo now\nhang']);
    await until('it works', () => / {2}now$/m.test(readable(running.shown())));
    running.type('\u0003');
    const { code, stdout } = await running.ended();
    assert.equal(code, 130);
    assert.match(readable(stdout), /Left\. The conversation goes on: parley follow c, or parley stop c/);
    assert.equal((await runs.info('c')).status, 'RUNNING');
  });

  it('shows how to answer a question, and what came of it', async (t) => {
    const { line } = await begin(t, { settings: { confirmation_mode: true } });
    const asked = await line.runInTerminal(['new', '--follow', '--id', 'c', 'ask delete everything']);
    assert.equal(asked.code, 5, asked.stdout);
    assert.match(
      readable(asked.stdout),
      /The agent asks for your permission:\n.*\n {2}parley confirm c allow/,
    );
    const answered = await line.runInTerminal(['confirm', 'c', 'always', '--follow']);
    assert.equal(answered.code, 0);
    assert.match(readable(answered.stdout), /You: .*\n(?:.*\n)*Agent: the answer was always/);
  });

  it('asks before it deletes, and does so where the answer is yes', async (t) => {
    const { line, runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    await runs.create('Something dear', { conversation_id: 'c' });
    for (const [answer, expected, left] of [
      ['n\r', 1, 1],
      ['y\r', 0, 0],
    ] as const) {
      const running = line.startInTerminal(['rm', 'c']);
      await until('the question', () => running.shown().includes('[y/N]'));
      assert.match(readable(running.shown()), /^ {2}Something dear {2}c\n/);
      running.type(answer);
      assert.equal((await running.ended()).code, expected);
      const { body } = await runs.service.ask('/api/conversations');
      assert.equal(body.results.length, left);
    }
  });

  it('asks for a key, and shows nothing of it', async (t) => {
    const { line, runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const running = line.startInTerminal(['settings', 'set', 'llm_api_key']);
    await until('the question', () => running.shown().includes('llm_api_key: '));
    running.type('typed-unseen\r');
    const { code, stdout } = await running.ended();
    assert.deepEqual([code, stdout.includes('typed')], [0, false]);
    assert.equal((await runs.service.ask('/api/settings')).body.llm_api_key_set, true);
    const refused = await line.runInTerminal(['settings', 'set', 'language']);
    assert.deepEqual([refused.code, /Say the value/.test(refused.stdout)], [2, true]);
  });

  it('lists for people, and shows diffs in colour', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('edit a.txt new');
    await runs.turns(id, 1);
    const list = await line.runInTerminal(['list']);
    assert.match(readable(list.stdout), /^ID +STATUS/);
    const diff = await line.runInTerminal(['diff', id]);
    assert.ok(diff.stdout.includes('\u001b[32m+new'), JSON.stringify(diff.stdout));
  });
});
