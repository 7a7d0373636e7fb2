// Starts the load as a child process and waits for its counts.
import { fileURLToPath } from 'node:url';
import { runChild } from './child.ts';
import type { Lifetime } from './lifetime.ts';
import type { LoadedServer, LoadPlan, Target, Turn } from './load.ts';
import type { Program } from './program.ts';
import { type Ask, wireRequest } from './requests.ts';
import { median } from './statistics.ts';

const load = fileURLToPath(new URL('./load.ts', import.meta.url));
const graceMs = 20_000;

export function loadedServer({ url, pid }: Program): LoadedServer {
  return { port: Number(new URL(url).port), pid };
}

export function loadTarget(program: Program, asks: readonly Ask[]): Target {
  return clusterTarget([program], asks);
}

/** Several processes of one service, which get the same requests. */
export function clusterTarget(programs: readonly Program[], asks: readonly Ask[]): Target {
  const { url = '' } = programs[0] ?? {};
  return { servers: programs.map(loadedServer), requests: asks.map((ask) => wireRequest(ask, url)) };
}

/** Returns the turns of each target. Throws if a response was wrong, a connection broke, or it takes too long. */
export function runLoad(lifetime: Lifetime, plan: LoadPlan): Promise<readonly (readonly Turn[])[]> {
  const { targets, rounds, roundMs, settleMs, warmupMs } = plan;
  const expectedMs = targets.length * (warmupMs + rounds * (roundMs + settleMs));
  return runChild(lifetime, load, plan, expectedMs + graceMs);
}

export function mediansOf(turns: readonly Turn[]) {
  return {
    rate: median(turns.map((turn) => turn.requestsPerS)),
    p50: median(turns.map((turn) => turn.p50Ms)),
    p99: median(turns.map((turn) => turn.p99Ms)),
    cpu: median(turns.map((turn) => turn.cpuUs)),
  };
}
