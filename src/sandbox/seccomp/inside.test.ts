// The seccomp filter from inside: every call that it refuses is tried in a real sandbox, by a program made for the
// test.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { bubblewrap, noBubblewrap, openTestSandbox, runShell } from '../../../test/support/sandboxes.ts';
import { callingProgram, resultsOf, type SystemCall } from '../../../test/support/systemCalls.ts';
import { createBridge } from '../../bridge/bridge.ts';
import { probeBubblewrap } from '../probe.ts';
import { runToEnd } from '../runToEnd.ts';
import type { SandboxEngine } from '../sandbox.ts';
import { type CallRow, judgedCalls, newestCall, numberOf, refusedCalls } from './calls.ts';
import { hasFilter } from './filter.ts';

const { arch } = process;
const architecture = hasFilter(arch) ? arch : 'x64';
const existing = (rows: readonly CallRow[]) =>
  rows.filter((row) => numberOf(row, architecture) !== undefined);
const call = (row: CallRow, ...args: number[]): SystemCall => ({
  number: numberOf(row, architecture) ?? -1,
  args,
});
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [-1, -38, -93, -97];

/** Makes the calls inside, in order, and returns what each returned. */
async function callInside(
  t: TestContext,
  calls: readonly SystemCall[],
  sandbox: SandboxEngine = bubblewrap(),
) {
  const { open, spec } = await openTestSandbox(t, sandbox);
  writeFileSync(join(spec.workspace, 'calls'), callingProgram(architecture, calls), { mode: 0o755 });
  const bounds = { timeoutMs: 60_000, outputBytesMax: 100_000 };
  const outcome = await runToEnd(open, { argv: ['./calls'], env: {} }, bounds);
  return { ...outcome, results: resultsOf(outcome.stdout) };
}

async function withoutFilter(): Promise<SandboxEngine> {
  const probed = await probeBubblewrap({ hidden: [], folder: tmpdir(), seccomp: false });
  if ('fault' in probed) throw new Error(probed.fault);
  return probed.engine;
}

describe('a program under the seccomp filter', { skip: noBubblewrap }, () => {
  for (const [group, rows] of Object.entries(refusedCalls))
    it(`is refused every call of ${group}`, async (t) => {
      const tried = existing(rows);
      const { results } = await callInside(
        t,
        tried.map((row) => call(row)),
      );
      assert.deepEqual(
        tried.map(([name], index) => [name, results[index]]),
        tried.map(([name]) => [name, EPERM]),
      );
    });

  it('could make calls of that list if there were no filter', async (t) => {
    const names = ['ptrace', 'unshare', 'pidfd_getfd', 'io_uring_setup', 'get_mempolicy', 'kcmp', 'setns'];
    const rows = existing(Object.values(refusedCalls).flat()).filter(([name]) => names.includes(name));
    assert.equal(rows.length, names.length);
    const { results } = await callInside(
      t,
      rows.map((row) => call(row)),
      await withoutFilter(),
    );
    // Done, or refused for other reasons: what it asks for makes no sense.
    assert.ok(results.length === rows.length && results.every((result) => result !== EPERM), String(results));
  });

  it('cannot clone into a namespace, and gets ENOSYS for clone3 and newer calls', async (t) => {
    const { clone, clone3 } = judgedCalls;
    const flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
    const calls = [...flags.map((flag) => call(clone, flag | 17)), call(clone3)];
    const newer = [newestCall + 1, 1_000].map((number) => ({ number }));
    const { results } = await callInside(t, [...calls, ...newer]);
    assert.deepEqual(results, [...flags.map(() => EPERM), ENOSYS, ENOSYS, ENOSYS]);
  });

  it('has sockets of UNIX, INET, INET6 and NETLINK_ROUTE only', async (t) => {
    const { socket, socketpair } = judgedCalls;
    const good = [
      [1, 1, 0],
      [2, 1, 0],
      [2, 2, 17],
      [10, 1, 6],
      [16, 3, 0],
    ];
    const families = Array.from({ length: 46 }, (_, family) => family);
    const bad = families.filter((family) => ![1, 2, 10, 16].includes(family));
    const otherProtocols = [
      [16, 3, 12],
      [16, 3, 15],
      [2, 1, 262],
      [2, 6, 0],
    ];
    const { results } = await callInside(t, [
      ...good.map((args) => call(socket, ...args)),
      ...bad.map((family) => call(socket, family, 1, 0)),
      ...otherProtocols.map((args) => call(socket, ...args)),
      call(socketpair, 30, 1, 0),
    ]);
    const opened = results.splice(0, good.length);
    assert.ok(
      opened.every((descriptor) => descriptor >= 0),
      String(opened),
    );
    assert.deepEqual(
      results.splice(0, bad.length),
      bad.map(() => EAFNOSUPPORT),
    );
    assert.deepEqual(results, [...otherProtocols.map(() => EPROTONOSUPPORT), EAFNOSUPPORT]);
  });

  it('cannot disable memory protections, nor type into a terminal', async (t) => {
    const { personality, ioctl } = judgedCalls;
    const calls = [
      call(personality, 0x0040000),
      call(personality, 0xffffffff),
      call(ioctl, 0, 0x5412),
      call(ioctl, 0, 2 ** 32 + 0x5412),
      call(ioctl, 0, 0x541c),
      call(ioctl, 0, 0x5423),
    ];
    const { results } = await callInside(t, calls);
    assert.deepEqual(results, [EPERM, 0, EPERM, EPERM, EPERM, EPERM]);
  });

  it('is killed if it uses the x32 ABI', {
    skip: arch !== 'x64' && `there is no x32 on ${arch}`,
  }, async (t) => {
    const { signal, code, results } = await callInside(t, [{ number: 0x40000000 + 39 }]);
    assert.deepEqual([signal ?? code, results], [128 + 31, []]);
  });

  it('cannot read the memory of another process with a debugger', {
    skip: !existsSync('/usr/bin/strace') && 'strace is not installed',
  }, async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { code, stderr } = await runShell(open, 'strace -f true');
    assert.notEqual(code, 0);
    assert.match(stderr, /Operation not permitted/);
  });

  it('cannot write to the memory of another process, nor open its output', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const tries = ['/proc/$$/mem', '/proc/$$/fd/1'].map((file) => `(exec 5>>${file}) 2>&1`);
    const { stdout } = await runShell(open, tries.join('; '));
    assert.match(stdout, /Read-only file system\n.*No such device or address\n$/);
  });

  it('finds no descriptor of the filter or of anything else that created the sandbox', async (t) => {
    for (const more of [{}, { bridge: createBridge({ handlers: {} }) }]) {
      const { open } = await openTestSandbox(t, bubblewrap(), more);
      const { stdout } = await runShell(
        open,
        'ls /proc/self/fd | grep -x "[0-9]"; grep ^Seccomp: /proc/self/status',
      );
      // The fourth is the folder that is listed.
      assert.equal(stdout, '0\n1\n2\n3\nSeccomp:\t2\n');
    }
  });

  it('can use threads, pipelines, git, and Python if it is installed', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap(), { spec: { readable: [process.execPath] } });
    const script = `set -e
      ${process.execPath} -e "new (require('node:worker_threads').Worker)('console.log(1 + 1)', { eval: true })"
      printf 'b\\na\\n' | sort | head -1
      git init -q repository && cd repository && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
      git log --format=%s
      if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -c 'import threading, subprocess
t = threading.Thread(target=lambda: print(subprocess.check_output(["echo", "python"]).decode(), end="")); t.start(); t.join()'
      else echo python; fi`;
    const { stdout, stderr } = await runShell(open, script);
    assert.equal(stdout, '2\na\nfirst\npython\n', stderr);
  });
});
