// What holds in every kind of sandbox that this machine has.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bubblewrap,
  commandLines,
  controlGroups,
  longSleep,
  newCell,
  noBubblewrap,
  openTestCell,
  runShell,
  sleeps,
  temporaryFolder,
} from '../../test/support/cells.ts';
import { until } from '../../test/support/until.ts';
import { createBridge } from '../bridge/bridge.ts';
import { limitsOf, oomScoreAdjustment } from './limits.ts';
import { type OpenCell, openCell } from './openCell.ts';
import { processSandbox } from './process.ts';
import { runToEnd } from './runToEnd.ts';
import type { Sandbox } from './sandbox.ts';

const kinds = [
  { kind: 'bubblewrap', sandbox: bubblewrap, skip: noBubblewrap },
  { kind: 'process', sandbox: () => processSandbox, skip: false },
] as const;

const hello = () => createBridge({ handlers: { hello: (_, response) => void response.end('hello') } });

/** Asks the bridge from inside, with what Node alone needs. */
const ask = `node -e "
fetch(process.env.ORIGIN + '/hello', { headers: { authorization: 'Bearer ' + process.env.TOKEN } })
  .then(async (answer) => console.log(answer.status, await answer.text()))"`;

for (const { kind, sandbox, skip } of kinds) {
  describe(`a cell of the kind ${kind}`, { skip }, () => {
    it('carries bytes both ways, as they are', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const { stdin, stdout, ended } = await open.enter({ argv: ['cat'], env: {} });
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
      const read = stdout.toArray();
      stdin.end(bytes);
      assert.deepEqual(Buffer.concat((await read) as Buffer[]), bytes);
      assert.deepEqual(await ended, { code: 0, signal: null });
    });

    it('tells the exit code', async (t) => {
      const { open } = await openTestCell(t, sandbox());
      assert.equal((await runShell(open, 'exit 7')).code, 7);
    });

    it('ends with 127 where there is no such program', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const { ended } = await open.enter({ argv: ['no-such-program'], env: {} });
      assert.equal((await ended).code, 127);
    });

    it('starts in the workspace, which it can write', async (t) => {
      const { open, cell } = await openTestCell(t, sandbox());
      const { stdout } = await runShell(
        open,
        'pwd; echo text >file; cat file; touch "$HOME/kept" && echo ok',
      );
      assert.equal(stdout, `${open.inside.workspace}\ntext\nok\n`);
      assert.notEqual(cell.workspace, cell.home);
    });

    it('gives the environment that was asked for, and nothing of the service', async (t) => {
      process.env['PARLEY_CANARY'] = 'canary-of-the-service';
      t.after(() => delete process.env['PARLEY_CANARY']);
      const { open } = await openTestCell(t, sandbox());
      const value = 'two\nlines, "quotes" and $(words)';
      const { stdout } = await runShell(open, 'env; printf %s "$ASKED" | od -c | head -1', { ASKED: value });
      assert.ok(stdout.includes(`ASKED=${value}\n`), stdout);
      assert.doesNotMatch(stdout, /canary|PARLEY_/);
    });

    it('has no value of the environment in any command line', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const canary = `value-${crypto.randomUUID()}`;
      const sleep = longSleep();
      const entered = await open.enter({ argv: ['sleep', sleep], env: { CANARY: canary } });
      await until('it runs', () => sleeps(sleep) > 0);
      assert.ok(!commandLines().some((line) => line.includes(canary)));
      await entered.kill();
    });

    it('is killed before the service where memory runs out', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const { stdout } = await runShell(
        open,
        'cat /proc/self/oom_score_adj; sh -c "cat /proc/$$/oom_score_adj"',
      );
      assert.equal(stdout, `${oomScoreAdjustment}\n${oomScoreAdjustment}\n`);
    });

    it('limits the address space of programs that ask for it, where no cgroup limits memory', async (t) => {
      const cell = newCell(t, { resourceFactor: 0.125 });
      const bounds = { timeoutMs: 20_000, outputBytesMax: 1_000 };
      const limitIn = async (open: OpenCell, limitAddressSpace: boolean) => {
        const argv = ['sh', '-c', 'ulimit -v'] as const;
        return (await runToEnd(open, { argv, env: {}, limitAddressSpace }, bounds)).stdout.toString();
      };
      const open = await openCell({ sandbox: sandbox(), cell });
      t.after(() => open.close());
      assert.equal(await limitIn(open, true), `${limitsOf(cell).addressBytesMax / 1_024}\n`);
      assert.equal(await limitIn(open, false), 'unlimited\n');
    });

    it('leaves programs the usual signals and no open files', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const { stdout } = await runShell(
        open,
        'grep SigIgn /proc/self/status; for n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && readlink /proc/$$/fd/$n; done; true',
      );
      assert.equal(stdout, 'SigIgn:\t0000000000000000\n');
    });

    it('dies with all that it started', async (t) => {
      const { open } = await openTestCell(t, sandbox());
      const sleep = longSleep();
      const entered = await open.enter({ argv: ['sh', '-c', `sleep ${sleep} & sleep ${sleep}`], env: {} });
      await until('both run', () => sleeps(sleep) === 2);
      await entered.kill();
      assert.equal(sleeps(sleep), 0);
    });

    it('dies with what left its session', async (t) => {
      const { open } = await openTestCell(t, sandbox());
      const sleep = longSleep();
      const argv = ['sh', '-c', `setsid sh -c 'setsid sleep ${sleep} & wait' & sleep ${sleep}`] as const;
      const entered = await open.enter({ argv, env: {} });
      await until('both run', () => sleeps(sleep) === 2);
      await entered.kill();
      assert.equal(sleeps(sleep), 0);
    });

    it('takes what is left when its program has ended', {
      skip: kind === 'process' && !controlGroups.holds.processes && 'there are no control groups here',
    }, async (t) => {
      const { open } = await openTestCell(t, sandbox());
      const sleep = longSleep();
      const entered = await open.enter({
        argv: ['sh', '-c', `setsid sleep ${sleep} >/dev/null 2>&1 & read line`],
        env: {},
      });
      await until('it runs', () => sleeps(sleep) === 1);
      entered.stdin.end('\n');
      await entered.ended;
      assert.equal(sleeps(sleep), 0);
    });

    it('closes with all launches, and lets none in any more', async (t) => {
      const { open } = await openTestCell(t, sandbox(), { bridge: hello() });
      const sleep = longSleep();
      const launch = { argv: ['sleep', sleep], env: {} } as const;
      await Promise.all([open.enter(launch), open.enter(launch)]);
      await until('both run', () => sleeps(sleep) === 2);
      await open.close();
      assert.equal(sleeps(sleep), 0);
      await assert.rejects(open.enter(launch), /closed/);
    });

    it('reaches the bridge with the token, and not without', async (t) => {
      const bridge = hello();
      const node = process.execPath;
      const { open } = await openTestCell(t, sandbox(), { bridge, cell: { readable: [node] } });
      const env = {
        ORIGIN: open.bridge?.origin ?? '',
        PATH: `${node.slice(0, node.lastIndexOf('/'))}:/usr/bin:/bin`,
      };
      const shown = await runShell(open, ask, { ...env, TOKEN: bridge.token });
      assert.equal(shown.stdout, '200 hello\n', shown.stderr);
      const guessed = await runShell(open, ask, { ...env, TOKEN: 'guessed' });
      assert.match(guessed.stdout, /^401 /);
    });
  });
}

describe('a cell that cannot be opened', () => {
  it('leaves no folder for a socket, and no control group', async (t) => {
    // The path of a socket must be short.
    const cell = newCell(t);
    const folder = join(temporaryFolder(t), 'x'.repeat(200));
    mkdirSync(folder);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    const sandbox: Sandbox = { ...processSandbox, bridgeWay: 'socket' };
    const opening = openCell({ sandbox, cell, bridge: createBridge({ handlers: {} }), controlGroups });
    await assert.rejects(opening, /EINVAL|ENAMETOOLONG/);
    assert.deepEqual(readdirSync(folder), []);
    // Its name is free again.
    await controlGroups.create(cell).end();
  });
});
