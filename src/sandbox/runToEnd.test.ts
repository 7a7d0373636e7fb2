import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { longSleep, newSandboxSpec } from '../../test/support/sandboxes.ts';
import { openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import { runForTail, runToEnd } from './runToEnd.ts';

describe('a program that is run to its end', () => {
  it('ends although a process that left its session keeps its output open', async (t) => {
    // Without control groups nothing ends what has left.
    const open = await openSandbox({ engine: processEngine, spec: newSandboxSpec(t) });
    t.after(() => open.close());
    const leaver = `echo $$; : >left; exec sleep ${longSleep()}`;
    const script = `setsid sh -c '${leaver}' & until [ -e left ]; do sleep 0.01; done`;
    const bounds = { timeoutMs: 60_000, outputBytesMax: 1_000 };
    const { code, bound, stdout } = await runToEnd(open, { argv: ['sh', '-c', script], env: {} }, bounds);
    assert.deepEqual([code, bound], [0, undefined]);
    const [, pid = ''] = /^(\d+)$/m.exec(stdout.toString()) ?? [];
    process.kill(Number(pid), 'SIGKILL');
  });

  it('may write without limit if only the end is kept', async (t) => {
    const open = await openSandbox({ engine: processEngine, spec: newSandboxSpec(t) });
    t.after(() => open.close());
    const program = { argv: ['sh', '-c', 'seq 200000; echo last; exit 3'], env: {} } as const;
    const { code, tail } = await runForTail(open, program, { timeoutMs: 60_000, tailBytesMax: 100 });
    assert.equal(code, 3);
    assert.ok(tail.length <= 100 && tail.endsWith('last\n'), tail);
  });
});
