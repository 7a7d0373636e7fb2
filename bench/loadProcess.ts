// Starts the load as a child process and waits for what it counted.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Lifetime } from './lifetime.ts';
import type { LoadPlan, LoadResult, Turn } from './load.ts';

const load = fileURLToPath(new URL('./load.ts', import.meta.url));
const graceMs = 20_000;

/** The turns of each target. Throws where an answer was wrong, a connection broke, or it does not come to an end. */
export async function runLoad(lifetime: Lifetime, plan: LoadPlan): Promise<readonly (readonly Turn[])[]> {
  const { targets, rounds, roundMs, settleMs, warmupMs } = plan;
  const expectedMs = targets.length * (warmupMs + rounds * (roundMs + settleMs));
  const timeout = expectedMs + graceMs;
  const child = fork(load, { timeout, killSignal: 'SIGKILL', serialization: 'advanced' });
  lifetime.adopt(child);
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  child.on('message', (result) => resolve(result as LoadResult));
  child.on('error', reject);
  child.on('exit', () => reject(new Error('the load ended without a result')));
  child.send(plan);
  const result = await promise;
  if ('error' in result) throw new Error(`the load failed: ${result.error}`);
  return result.turns;
}
