import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startAgentBench, temporary } from '../../../test/support/agentBench.ts';
import { until } from '../../../test/support/until.ts';
import { createJournal, resumeJournal } from './journal.ts';

const id = '00000000-0000-4000-8000-000000000000';
const fileIn = (home: string) => join(home, '.parley-agent/sessions', `${id}.jsonl`);
const call = (toolCallId: string) =>
  ({ type: 'tool-call', toolCallId, toolName: 'bash', input: { command: 'x' } }) as const;
const result = (toolCallId: string, value: string) =>
  ({ type: 'tool-result', toolCallId, toolName: 'bash', output: { type: 'text', value } }) as const;

describe('the journal of a session', () => {
  it('returns what was written, results after their calls', (t) => {
    const home = temporary(t);
    const journal = createJournal(home, id);
    journal.addMessage({ role: 'user', content: 'go' });
    journal.addMessage({ role: 'assistant', content: [call('a'), call('b')] });
    journal.begin('a');
    journal.addResult(result('a', 'one'));
    journal.begin('b');
    journal.addResult(result('b', 'two'));
    journal.close();
    const resumed = resumeJournal(home, id);
    t.after(() => resumed?.close());
    assert.deepEqual(resumed?.messages, journal.messages);
    assert.deepEqual(resumed?.messages[2], {
      role: 'tool',
      content: [result('a', 'one'), result('b', 'two')],
    });
  });

  it('marks calls in progress as unknown, and later ones as not executed', (t) => {
    const home = temporary(t);
    const journal = createJournal(home, id);
    journal.addMessage({ role: 'assistant', content: [call('a'), call('b'), call('c')] });
    journal.begin('a');
    journal.addResult(result('a', 'one'));
    journal.begin('b');
    journal.close();
    const resumed = resumeJournal(home, id);
    t.after(() => resumed?.close());
    const results = JSON.stringify(resumed?.messages.at(-1));
    assert.match(results, /"one".*"b".*outcome is unknown.*"c".*Nothing of it was done/);
    const again = resumeJournal(home, id);
    t.after(() => again?.close());
    assert.deepEqual(again?.messages, resumed?.messages);
  });

  it('drops a line that was cut off, and continues after it', (t) => {
    const home = temporary(t);
    const journal = createJournal(home, id);
    journal.addMessage({ role: 'user', content: 'go' });
    journal.close();
    const folder = join(home, '.parley-agent/sessions');
    const [name = ''] = readdirSync(folder);
    appendFileSync(join(folder, name), '{"message":{"role":"us');
    const resumed = resumeJournal(home, id);
    resumed?.addMessage({ role: 'assistant', content: 'ok' });
    resumed?.close();
    const again = resumeJournal(home, id);
    t.after(() => again?.close());
    assert.deepEqual(
      again?.messages.map(({ role }) => role),
      ['user', 'assistant'],
    );
  });

  it('continues after a line that was cut off in the middle of a character', (t) => {
    const home = temporary(t);
    const journal = createJournal(home, id);
    journal.addMessage({ role: 'user', content: 'größer' });
    journal.close();
    appendFileSync(fileIn(home), Buffer.from('{"message":{"role":"user","content":"größer').subarray(0, -3));
    for (const content of ['b', 'c']) {
      const resumed = resumeJournal(home, id);
      resumed?.addMessage({ role: 'user', content });
      resumed?.close();
    }
    const [, ...lines] = readFileSync(fileIn(home), 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).message.content),
      ['größer', 'b', 'c'],
    );
  });

  const message = '{"message":{"role":"user","content":"go"}}\n';
  const strange: Readonly<Record<string, (file: string) => void>> = {
    empty: (file) => writeFileSync(file, ''),
    'a line that was cut off, and no more': (file) => writeFileSync(file, '{"mess'),
    garbage: (file) => writeFileSync(file, `${message}\0\xff garbage\n${message}`),
    'other JSON': (file) => writeFileSync(file, `${message}null\n`),
    'a message of nobody': (file) => writeFileSync(file, `${message}{"message":{"role":"king"}}\n`),
    'a result of nothing': (file) => writeFileSync(file, `${message}{"result":{}}\n`),
    'a folder': (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    'a link': (file) => {
      writeFileSync(`${file}.real`, message);
      rmSync(file);
      symlinkSync(`${file}.real`, file);
    },
    'a pipe': (file) => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    },
  };
  for (const [what, put] of Object.entries(strange))
    it(`is not resumed if there is ${what} instead`, (t) => {
      const home = temporary(t);
      createJournal(home, id).close();
      put(fileIn(home));
      assert.equal(resumeJournal(home, id), undefined);
    });

  it('is created even if something else is at the path of its folder', (t) => {
    const home = temporary(t);
    const elsewhere = temporary(t);
    writeFileSync(join(home, '.parley-agent'), 'no folder');
    createJournal(home, id).close();
    rmSync(join(home, '.parley-agent/sessions'), { recursive: true });
    symlinkSync(elsewhere, join(home, '.parley-agent/sessions'));
    assert.equal(resumeJournal(home, id), undefined);
    createJournal(home, id).close();
    assert.deepEqual(readdirSync(elsewhere), []);
  });

  it('does not resume a session of another home, nor a path', (t) => {
    const home = temporary(t);
    assert.equal(resumeJournal(home, id), undefined);
    assert.equal(resumeJournal(home, '../../etc/passwd'), undefined);
  });

  it('keeps the summary instead of the replaced messages', (t) => {
    const home = temporary(t);
    const journal = createJournal(home, id);
    for (const content of ['1', '2', '3']) journal.addMessage({ role: 'user', content });
    journal.replace([{ role: 'user', content: 'notes' }, ...journal.messages.slice(2)]);
    journal.close();
    const resumed = resumeJournal(home, id);
    t.after(() => resumed?.close());
    assert.deepEqual(
      resumed?.messages.map(({ content }) => content),
      ['notes', '3'],
    );
  });
});

describe('a session whose journal another program has written to', () => {
  for (const line of [
    { message: { role: 'assistant', content: [{ type: 'bogus' }] } },
    { message: { role: 'assistant', content: [call('never-answered')] } },
    { message: { role: 'tool', content: [result('never-asked', 'x')] } },
  ])
    it(`continues with ${line.message.role} ${line.message.content[0]?.type}`, async (t) => {
      const first = await startAgentBench(t, { script: [{ say: 'One.' }, { say: 'Two.' }] });
      await first.open();
      await first.prompt('go');
      await first.close();
      const folder = join(first.home, '.parley-agent/sessions');
      for (const name of readdirSync(folder))
        appendFileSync(
          join(folder, name),
          `${JSON.stringify(line)}\n${JSON.stringify({ message: { role: 'user', content: 'x' } })}\n`,
        );
      const second = await startAgentBench(t, { model: first.model, home: first.home, cwd: first.cwd });
      await second.resume(first.sessionId());
      assert.equal(await second.prompt('and?'), 'end_turn');
      assert.notEqual(second.said(), '');
    });
});

describe('a session whose agent was killed', () => {
  it('continues in the next agent, and repeats nothing', async (t) => {
    const script = [
      { run: 'echo once >> log' },
      { run: 'echo twice >> log' },
      { say: 'Both are done.' },
      { say: 'Still here.' },
    ];
    const first = await startAgentBench(t, { script });
    await first.open();
    await first.prompt('go');
    await first.close();
    const second = await startAgentBench(t, { model: first.model, home: first.home, cwd: first.cwd });
    await second.resume(first.sessionId());
    await second.prompt('and?');
    assert.equal(second.said(), 'Still here.');
    assert.equal(readFileSync(join(first.cwd, 'log'), 'utf8'), 'once\ntwice\n');
    assert.equal(first.model.exchanges.at(-1)?.request.results.length, 2);
  });

  it('gets an unknown outcome for a call that was interrupted', async (t) => {
    const script = [{ run: 'touch begun; sleep 60' }, { say: 'Hm.' }];
    const first = await startAgentBench(t, { script });
    await first.open();
    first.prompt('go').catch(() => {});
    await until('the command runs', async () => existsSync(join(first.cwd, 'begun')));
    await first.close();
    const second = await startAgentBench(t, { model: first.model, home: first.home, cwd: first.cwd });
    await second.resume(first.sessionId());
    await second.prompt('and?');
    assert.match(first.model.exchanges.at(-1)?.request.results[0] ?? '', /outcome is unknown/);
  });

  it('is refused if the home has no journal, so that a new one is created', async (t) => {
    const bench = await startAgentBench(t);
    await assert.rejects(bench.resume(id), /not found|Resource/i);
  });
});
