// Starts a command that builds a sandbox and passes it the seccomp filter, if there is one.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { filterDescriptor, type WrappedCommand } from './sandbox.ts';

type Stdio = Extract<SpawnOptions['stdio'], readonly unknown[]>;

/** `stdio` has at most four entries; the filter's descriptor comes after them. */
export function startWrapped(
  { command, args, env, cwd, filter }: WrappedCommand,
  stdio: Stdio,
  options: Pick<SpawnOptions, 'detached' | 'timeout'> = {},
): ChildProcess {
  if (filter === undefined) return spawn(command, args, { ...options, env, cwd, stdio });
  const unused = Array.from({ length: filterDescriptor - stdio.length }, () => 'ignore' as const);
  const child = spawn(command, args, { ...options, env, cwd, stdio: [...stdio, ...unused, 'pipe'] });
  const pipe = child.stdio[filterDescriptor];
  // If the command ends before it has read the filter, its exit reports the cause.
  if (pipe instanceof Duplex)
    pipe
      .on('error', () => {})
      .resume()
      .end(filter);
  return child;
}
