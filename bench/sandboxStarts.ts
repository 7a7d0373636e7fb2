// Starts programs in one kind of sandbox and prints how long that took and what a running one needs, as JSON:
// `node sandboxStarts.ts KIND STARTS [IMAGE ENGINE_PID]`. It is a process of its own, so that it uses the build.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBridge } from '../src/bridge/bridge.ts';
import { createDocker } from '../src/sandbox/docker.ts';
import { type OpenSandbox, openSandbox } from '../src/sandbox/openSandbox.ts';
import { probeBubblewrap } from '../src/sandbox/probe.ts';
import { processEngine } from '../src/sandbox/processEngine.ts';
import { descendantsOf, knownProcess } from '../src/sandbox/processes.ts';
import type { SandboxEngine } from '../src/sandbox/sandbox.ts';
import { median } from './statistics.ts';

export interface SandboxStarts {
  /** Milliseconds from the start of a program to its first output, without network and with the bridge. */
  readonly offlineMs: number;
  readonly bridgedMs: number;
  /** The memory of all processes that exist because of one program, which only sleeps and has the bridge. */
  readonly residentBytes: number;
}

const [kind = '', starts = '1', image = '', enginePid = ''] = process.argv.slice(2);

async function engineOf(folder: string): Promise<SandboxEngine> {
  if (kind === 'process') return processEngine;
  if (kind === 'bubblewrap') {
    const probed = await probeBubblewrap({ hidden: [], folder, seccomp: true });
    if ('fault' in probed) throw new Error(probed.fault);
    return probed.engine;
  }
  const runtime = kind === 'gvisor' ? 'runsc' : undefined;
  return createDocker({ command: 'docker', image, runtime, hidden: [] });
}

/** What a process needs for itself, and its share of what it has in common with others. */
function proportionalBytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1_024;
  } catch {
    return 0;
  }
}

/** Returns the memory of all processes that this one and the engine have started, by pid. */
function measureAll(): Map<number, number> {
  const roots = [process.pid, ...(enginePid === '' ? [] : [Number(enginePid)])];
  const pids = roots.flatMap((pid) => descendantsOf(knownProcess(pid)).map((one) => one.pid));
  return new Map(pids.map((pid) => [pid, proportionalBytes(pid)]));
}

async function startUntilOutput(sandbox: OpenSandbox, offline: boolean) {
  const begin = performance.now();
  const argv = ['sh', '-c', 'echo ready; exec sleep 1000'] as const;
  const started = await sandbox.start({ argv, env: {}, offline });
  await started.stdout.take(1).toArray();
  return { started, ms: performance.now() - begin };
}

async function medianStart(sandbox: OpenSandbox, offline: boolean): Promise<number> {
  const times: number[] = [];
  // The first one is not counted.
  for (let count = 0; count <= Number(starts); count++) {
    const { started, ms } = await startUntilOutput(sandbox, offline);
    if (count > 0) times.push(ms);
    await started.kill();
  }
  return median(times);
}

async function measure(folder: string): Promise<SandboxStarts> {
  const folders = { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
  for (const path of Object.values(folders)) mkdirSync(path);
  const bridge = createBridge({ handlers: {} });
  const spec = { ...folders, name: `bench-${process.pid}`, readable: [], resourceFactor: 1, image: null };
  const sandbox = await openSandbox({ engine: await engineOf(folder), spec, bridge });
  const offlineMs = await medianStart(sandbox, true);
  const bridgedMs = await medianStart(sandbox, false);
  const before = measureAll();
  await startUntilOutput(sandbox, false);
  const added = [...measureAll()].filter(([pid]) => !before.has(pid));
  await sandbox.close();
  await bridge.close();
  return { offlineMs, bridgedMs, residentBytes: added.reduce((sum, [, bytes]) => sum + bytes, 0) };
}

const folder = mkdtempSync(join(tmpdir(), 'parley-starts-'));
process.stdout.write(JSON.stringify(await measure(folder)));
rmSync(folder, { recursive: true, force: true });
process.exit(0);
