// The commands for agents, as a person runs them, with an agent from agents.json that does what its model says.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { jsonLines } from '../support/commandLine.ts';
import { mainFile } from '../support/program.ts';
import { longSleep, sleeps } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';

const modelAgent = resolve(import.meta.dirname, '../support/modelAgent.ts');

const env = {
  MODEL_BASE_URL: '{base}',
  MODEL_TOKEN: '{token}',
  MODEL: '{model}',
};
const program = { command: 'model-agent', args: [], env, modes: { ask: { env: { ASK: 'ask' } } } };
const profile = { id: 'mine', name: 'Mine', protocol: 'openai-chat', programs: [program] };
const careless = {
  ...profile,
  id: 'careless',
  programs: [{ ...program, modes: {} }],
};
const withAsk = (id: string, ask: Record<string, string>) => ({
  ...profile,
  id,
  programs: [{ ...program, modes: { ask: { env: ask } } }],
});
/** Asks for commands only, as some do in a git work tree. */
const half = withAsk('half', { ASK: 'bash' });
const deaf = withAsk('deaf', { ASK: 'ignore' });
const idle = withAsk('idle', { ASK: 'ask', NO_TOOLS: '1' });
const broken = { ...profile, id: 'broken', programs: [{ command: 'broken-agent', args: [], env: {} }] };
const silent = { ...profile, id: 'silent', programs: [{ command: 'silent-agent', args: [], env: {} }] };
const silence = longSleep();

describe('parley agents', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-agents-'));
    for (const name of ['bin', 'data', 'tmp']) mkdirSync(join(folder, name));
    symlinkSync(modelAgent, join(folder, 'bin/model-agent'));
    writeFileSync(join(folder, 'bin/broken-agent'), '#!/bin/sh\necho "it is \x1b[31mbroken" >&2\nexit 3\n');
    chmodSync(join(folder, 'bin/broken-agent'), 0o755);
    writeFileSync(join(folder, 'bin/silent-agent'), `#!/bin/sh\nexec sleep ${silence}\n`, { mode: 0o755 });
    const bad = { ...profile, id: 'bad', protocol: 'morse' };
    const agents = [bad, profile, careless, half, deaf, idle, broken, silent];
    writeFileSync(join(folder, 'data/agents.json'), JSON.stringify({ agents }));
  });
  after(() => rmSync(folder, { recursive: true }));

  const environment = () => ({
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
    PARLEY_DATA_DIR: join(folder, 'data'),
    TMPDIR: join(folder, 'tmp'),
  });

  function parley(words: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [mainFile, 'agents', ...words], {
      env: environment(),
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  it('list shows where each is installed, and how to install the others', () => {
    const { status, stdout } = parley(['list']);
    assert.equal(status, 0);
    assert.match(stdout, /^AGENT +NAME +VERSION +FOUND\n/);
    assert.match(stdout, /^mine +Mine .*bin\/model-agent$/m);
    assert.match(
      stdout,
      /^claude +Claude Code +- +not installed; install it with: parley agents install claude$/m,
    );
  });

  it('report an invalid profile and continue with the others', () => {
    const { status, stderr, stdout } = parley(['list']);
    assert.equal(status, 0);
    assert.match(stderr, /agents\[0\]\.protocol must be one of .*This agent is left out/);
    assert.doesNotMatch(stdout, /^bad /m);
    assert.equal(parley(['test', 'bad']).status, 2);
  });

  it('list prints JSON lines with --json', () => {
    const records = jsonLines(parley(['list', '--json']).stdout) as { id: string; found: string | null }[];
    const found = (id: string) => records.find((record) => record.id === id)?.found;
    assert.equal(found('mine'), join(folder, 'bin/model-agent'));
    assert.equal(found('qwen'), null);
  });

  it('test runs an agent with a scripted model, and leaves nothing behind', () => {
    for (const words of [[], ['--confirm']]) {
      const { status, stdout, stderr } = parley(['test', 'mine', ...words]);
      assert.equal(status, 0, stdout + stderr);
      const steps = ['starts', 'opens a session', 'ends its turn', 'asks its model', 'writes a file'];
      for (const step of [...steps, 'runs a command', 'answers'])
        assert.ok(stdout.includes(`✓ ${step}`), stdout);
      assert.equal(stdout.includes('The agent asks for approval before it acts.'), words.length > 0);
    }
    assert.deepEqual(readdirSync(join(folder, 'tmp')), []);
  });

  it('test fails, exit code 1, if an agent acts without asking', () => {
    const { status, stdout } = parley(['test', 'careless', '--confirm']);
    assert.equal(status, 1);
    assert.match(stdout, /✗ asks before a command\n {4}it acted without asking\n/);
    assert.match(stdout, /✗ asks before a command that only reads\n/);
    assert.match(stdout, /✗ asks before it edits a file\n/);
    assert.match(stdout, /The agent does not ask for approval before it acts/);
  });

  it('test fails, exit code 1, if an agent asks for commands, but not for files in a git work tree', () => {
    const { status, stdout } = parley(['test', 'half', '--confirm']);
    assert.equal(status, 1);
    assert.match(stdout, /✓ asks before a command\n/);
    assert.match(stdout, /✗ asks before it writes a file\n {4}it acted without asking\n/);
  });

  it('test fails, exit code 1, if an agent asks and ignores the answer', () => {
    const { status, stdout } = parley(['test', 'deaf', '--confirm']);
    assert.equal(status, 1);
    assert.match(stdout, /✗ does nothing that was rejected\n {4}it did what was rejected\n/);
  });

  it('test says that it could not be determined, exit code 7, if an agent does nothing or does not start', () => {
    const { status, stdout } = parley(['test', 'idle', '--confirm']);
    assert.equal(status, 7, stdout);
    assert.match(stdout, /\? asks before a command\n/);
    assert.match(
      stdout,
      /It could not be determined whether the agent asks for approval before it acts\.\n$/,
    );
    assert.equal(parley(['test', 'broken', '--confirm']).status, 7);
  });

  it('test fails, exit code 1, with the last output of an agent that ends, without colours', () => {
    const { status, stdout } = parley(['test', 'broken']);
    assert.equal(status, 1);
    assert.match(stdout, /✗ starts .*\n {4}The agent ended with exit code 3\.\n {4}it is broken\n/);
  });

  it('test runs the built-in agent, which is always installed, exit code 0', () => {
    const { status, stdout } = parley(['test', 'builtin']);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /✓ answers/);
  });

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    it(`test leaves nothing behind if it is interrupted by ${signal}, exit code ${expected}`, async (t) => {
      const child = spawn(process.execPath, [mainFile, 'agents', 'test', 'silent'], { env: environment() });
      t.after(() => child.kill('SIGKILL'));
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        stdout += piece;
      });
      await until('the agent runs', () => sleeps(silence) > 0);
      child.kill(signal);
      const [code] = await once(child, 'exit');
      assert.deepEqual([code, sleeps(silence)], [expected, 0]);
      assert.match(stdout, /✗ starts .*\n {4}It was interrupted\./);
      assert.deepEqual(readdirSync(join(folder, 'tmp')), []);
    });

  it('refuse usage errors, exit code 2, and say what to do', () => {
    const refused: [string[], RegExp][] = [
      [['test', 'nonsense'], /no agent named "nonsense".*Known agents: builtin, .*mine/],
      [['test', 'gemini'], /not installed.*parley agents install gemini/],
      [['test', 'mine', '--sandbox', 'constructor'], /--sandbox must be auto, bubblewrap or process/],
      [['test', 'mine', '--json'], /has no option --json/],
      [['test'], /AGENT is missing\. Usage: parley agents test AGENT/],
      [[], /needs a command: list, install, add, remove/],
    ];
    for (const [words, expected] of refused) {
      const { status, stderr } = parley(words);
      assert.equal(status, 2, words.join(' '));
      assert.match(stderr, expected);
    }
  });
});
