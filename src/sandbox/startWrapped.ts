// Starts a command of the host that builds a sandbox, and hands it the seccomp filter where there is one.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { filterDescriptor, type Wrapped } from './sandbox.ts';

type Stdio = Extract<SpawnOptions['stdio'], readonly unknown[]>;

/** `stdio` has at most four entries; the filter's descriptor comes after them. */
export function startWrapped(
  { command, args, env, cwd, filter }: Wrapped,
  stdio: Stdio,
  options: Pick<SpawnOptions, 'detached' | 'timeout'> = {},
): ChildProcess {
  if (filter === undefined) return spawn(command, args, { ...options, env, cwd, stdio });
  const unused = Array.from({ length: filterDescriptor - stdio.length }, () => 'ignore' as const);
  const child = spawn(command, args, { ...options, env, cwd, stdio: [...stdio, ...unused, 'pipe'] });
  const pipe = child.stdio[filterDescriptor];
  // A command that ends before it has read the filter says why in another way.
  if (pipe instanceof Duplex)
    pipe
      .on('error', () => {})
      .resume()
      .end(filter);
  return child;
}
