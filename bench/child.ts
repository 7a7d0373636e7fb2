// Runs work in a child process, which gets a plan and returns a result. This file has both sides.
import { fork } from 'node:child_process';
import type { Lifetime } from './lifetime.ts';

type Result<Out> = { readonly value: Out } | { readonly error: string };

/** Runs the file and waits for its result. Throws if it fails or takes too long. */
export async function runChild<Plan extends object, Out>(
  lifetime: Lifetime,
  file: string,
  plan: Plan,
  timeoutMs: number,
): Promise<Out> {
  const child = fork(file, { timeout: timeoutMs, killSignal: 'SIGKILL', serialization: 'advanced' });
  lifetime.adopt(child);
  const { promise, resolve, reject } = Promise.withResolvers<Result<Out>>();
  child.on('message', (result) => resolve(result as Result<Out>));
  child.on('error', reject);
  child.on('exit', () => reject(new Error('the load ended without a result')));
  child.send(plan);
  const result = await promise;
  if ('error' in result) throw new Error(`the load failed: ${result.error}`);
  return result.value;
}

/** Used in the child: waits for the plan, and sends the result. */
export function answerParent<Plan, Out>(run: (plan: Plan) => Promise<Out>): void {
  function report(result: Result<Out>): void {
    process.send?.(result, () => process.exit());
  }
  process.once('disconnect', () => process.exit(1));
  process.once('uncaughtException', (error) => report({ error: error.message }));
  process.once('message', (plan: Plan) => {
    run(plan).then(
      (value) => report({ value }),
      (error: Error) => report({ error: error.message }),
    );
  });
}
