import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openBench, toolNamed } from '../../../../test/support/tools.ts';
import { until } from '../../../../test/support/until.ts';
import { createCommandTools } from './commands.ts';

function open(t: TestContext) {
  const { tools, close } = createCommandTools({ env: { PATH: process.env['PATH'], GREETING: 'hello' } });
  t.after(close);
  return { ...openBench(t, tools), tools, close };
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Reads the number that a command wrote to a file. */
function pidIn(file: string): Promise<number> {
  return until('a pid', () => existsSync(file) && (Number(readFileSync(file, 'utf8').trim()) || undefined));
}

describe('bash', () => {
  it('returns stdout and stderr in order', async (t) => {
    const { run } = open(t);
    const command = 'for i in 1 2 3; do echo out $i; echo err $i >&2; done';
    const { text, exitCode, failed } = await run('bash', { command });
    assert.equal(text, 'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3');
    assert.equal(exitCode, 0);
    assert.equal(failed, undefined);
  });

  it('starts each command in the workspace with the given environment', async (t) => {
    const { run, cwd } = open(t);
    await run('bash', { command: 'cd / && export GREETING=bye' });
    const { text } = await run('bash', {
      command: 'pwd; echo $GREETING; env | grep -c ^HOME=; [[ a == a ]] && cat && echo bash',
    });
    assert.equal(text, `${cwd}\nhello\n0\nbash`);
  });

  it('reports the exit code, or the signal of a killed command', async (t) => {
    const { run } = open(t);
    assert.deepEqual(await run('bash', { command: 'echo no; exit 3' }), {
      text: 'no\n[exit code 3]',
      exitCode: 3,
      failed: true,
    });
    const killed = await run('bash', { command: 'kill -SEGV $$' });
    assert.equal(killed.text, '(no output)\n[ended by SIGSEGV]');
    assert.equal(killed.exitCode, 139);
  });

  it('reports a syntax error', async (t) => {
    const { run } = open(t);
    const { text, exitCode } = await run('bash', { command: 'if true; then (' });
    assert.match(text, /syntax error/);
    assert.equal(exitCode, 2);
  });

  it('reports why a command could not be started', async (t) => {
    const { tools } = open(t);
    const use = { cwd: '/nowhere', signal: new AbortController().signal, onOutput: () => {} };
    const bash = toolNamed(tools, 'bash');
    const missing = await bash.run({ command: 'true' } as never, use);
    assert.match(missing.text, /could not be started: .*ENOENT/);
    assert.equal(missing.failed, true);
    const broken = await bash.run({ command: 'echo \0' } as never, { ...use, cwd: '/' });
    assert.match(broken.text, /could not be started: .*null bytes/);
  });

  it('limits 50 MB of output', async (t) => {
    const { run } = open(t);
    const { text } = await run('bash', {
      command: 'head -c 50000000 /dev/zero | tr "\\0" "x"; echo; echo the end',
    });
    assert.ok(text.length < 25_000);
    assert.match(text, /49\d{6} characters left out/);
    assert.match(text, /x\nthe end$/);
  });

  it('joins a character that was written in two parts', async (t) => {
    const { run } = open(t);
    const { text } = await run('bash', {
      command: "printf '\\xe2\\x82'; sleep 0.05; printf '\\xac and \\xff'",
    });
    assert.equal(text, '€ and \uFFFD');
  });

  it('shows the output while the command runs', async (t) => {
    const { run, shown, cwd } = open(t);
    const running = run('bash', {
      command: 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo second',
    });
    await until('the first line', () => shown.at(-1) === 'first\n');
    writeFileSync(join(cwd, 'go'), '');
    assert.equal((await running).text, 'first\nsecond');
  });

  it('ends a command that takes too long, with all its processes, even if it ignores SIGTERM', async (t) => {
    const { run, cwd } = open(t);
    const command =
      "trap '' TERM; echo started; (echo $BASHPID > inner; sleep 30) & while :; do sleep 30; done";
    const { text, failed, exitCode } = await run('bash', { command, timeout_seconds: 1 });
    assert.match(text, /^started\n\[ended, for it took longer than 1 s: .*background: true\]$/);
    assert.equal(failed, true);
    assert.equal(exitCode, 137);
    assert.equal(runs(await pidIn(join(cwd, 'inner'))), false);
  });

  it('does not wait for a process that left its group and keeps the output open', async (t) => {
    const { run, cwd } = open(t);
    const command =
      "setsid sh -c 'echo $$ > daemon; while [ ! -e go ]; do sleep 0.02; done; echo late; exec sleep 30' & echo done";
    const { text, exitCode } = await run('bash', { command });
    assert.equal(text, 'done\n[what it started still runs, as bg1: see bash_output, bash_stop]');
    assert.equal(exitCode, 0);
    writeFileSync(join(cwd, 'go'), '');
    await until('the late line', async () => /^late\n/.test((await run('bash_output', { id: 'bg1' })).text));
    await run('bash_stop', { id: 'bg1' });
    process.kill(await pidIn(join(cwd, 'daemon')), 'SIGKILL');
  });

  it('does not wait for such a process after a timeout, either', async (t) => {
    const { run, cwd } = open(t);
    const command = "setsid sh -c 'echo $$ > daemon; exec sleep 30' & sleep 30";
    const { text } = await run('bash', { command, timeout_seconds: 1 });
    assert.match(text, /took longer than 1 s/);
    process.kill(await pidIn(join(cwd, 'daemon')), 'SIGKILL');
  });

  it('ends at once when the user stops the turn', async (t) => {
    const { run, cwd } = open(t);
    const stopping = new AbortController();
    const running = run('bash', { command: 'echo $$ > pid; echo begun; sleep 30' }, stopping.signal);
    const pid = await pidIn(join(cwd, 'pid'));
    stopping.abort();
    const { text, failed } = await running;
    assert.equal(text, 'begun\n[stopped by the user]');
    assert.equal(failed, true);
    assert.equal(runs(pid), false);
    const after = await run('bash', { command: 'touch never' }, stopping.signal);
    assert.equal(after.failed, true);
    assert.equal(existsSync(join(cwd, 'never')), false);
  });

  it('has the command as its title', (t) => {
    const bash = toolNamed(open(t).tools, 'bash');
    assert.equal(bash.title({ command: 'npm test' } as never), 'npm test');
    assert.equal(
      bash.title({ command: 'x'.repeat(600) } as never),
      `${'x'.repeat(500)} … (100 characters more)`,
    );
  });
});

describe('bash in the background', () => {
  it('continues after its turn was stopped, and is read in parts', async (t) => {
    const { run, cwd } = open(t);
    const turn = new AbortController();
    const command = 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4';
    const started = await run('bash', { command, background: true }, turn.signal);
    assert.equal(started.text, 'one\n[runs in the background as bg1: see bash_output, bash_stop]');
    turn.abort();
    assert.equal((await run('bash_output', { id: 'bg1' })).text, '(no output)\n[bg1 still runs]');
    writeFileSync(join(cwd, 'go'), '');
    const ended = await run('bash_output', { id: 'bg1', wait_seconds: 20 });
    assert.deepEqual(ended, { text: 'two\n[bg1 has ended: exit code 4]', exitCode: 4 });
    assert.equal((await run('bash_output', { id: 'bg1' })).text, '(no output)\n[bg1 has ended: exit code 4]');
  });

  it('returns the whole output of a command that ended between two reads', async (t) => {
    const { run, cwd } = open(t);
    const command = 'while [ ! -e go ]; do sleep 0.02; done; echo last words; echo $$ > done';
    await run('bash', { command, background: true });
    writeFileSync(join(cwd, 'go'), '');
    const pid = await pidIn(join(cwd, 'done'));
    await until('its end', () => !runs(pid));
    const { text } = await run('bash_output', { id: 'bg1' });
    assert.equal(text, 'last words\n[bg1 has ended: exit code 0]');
  });

  it('reports at once that a command failed at once', async (t) => {
    const { run } = open(t);
    const { text, failed, exitCode } = await run('bash', { command: 'no-such-program', background: true });
    assert.match(text, /not found\n\[exit code 127\]\n\[it has ended already/);
    assert.equal(failed, true);
    assert.equal(exitCode, 127);
  });

  it('ends a stopped command with all its processes', async (t) => {
    const { run, cwd } = open(t);
    await run('bash', { command: 'sleep 30 & echo $! > inner; echo up; wait', background: true });
    const { text } = await run('bash_stop', { id: 'bg1' });
    assert.match(text, /\[bg1 has ended: ended by SIGTERM\]$/);
    assert.equal(runs(await pidIn(join(cwd, 'inner'))), false);
  });

  it('lists the commands if an id is unknown', async (t) => {
    const { run } = open(t);
    const none = await run('bash_output', { id: 'bg7' });
    assert.deepEqual(none, {
      text: 'There is no background command "bg7". No background command runs.',
      failed: true,
    });
    await run('bash', { command: 'sleep 30', background: true });
    assert.match((await run('bash_stop', { id: 'bg7' })).text, /In the background run:\nbg1: sleep 30$/);
  });

  it('accepts a limited number of commands', async (t) => {
    const { run } = open(t);
    const nine = await Promise.all(
      Array.from({ length: 9 }, () => run('bash', { command: 'sleep 30', background: true })),
    );
    assert.equal(nine.filter(({ failed }) => failed !== true).length, 8);
    const { text, failed } = await run('bash', { command: 'sleep 30', background: true });
    assert.match(text, /^Not started: 8 commands run in the background already\. End one with bash_stop\./);
    assert.equal(failed, true);
  });

  it('is ended by close, like foreground commands', async (t) => {
    const { run, cwd, close } = open(t);
    await run('bash', { command: 'echo $$ > one; exec sleep 30', background: true });
    const waiting = run('bash', { command: 'echo $$ > two; exec sleep 30' });
    const pids = await Promise.all([pidIn(join(cwd, 'one')), pidIn(join(cwd, 'two'))]);
    await close();
    assert.deepEqual(pids.map(runs), [false, false]);
    assert.equal((await waiting).exitCode, 143);
    assert.match((await run('bash', { command: 'true' })).text, /^Not started/);
  });
});
