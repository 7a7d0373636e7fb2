// Determines why an agent has ended, and keeps its last error output.
import type { Readable } from 'node:stream';
import type { ProcessEnd, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { keepTail } from '../../text/tail.ts';
import { AgentError } from './errors.ts';
import type { Peer } from './peer.ts';

const stderrBytesMax = 2 * 1024;
/** How long the rest of the output is read after the end of the process. */
const drainMs = 1_000;

function closing(stream: Readable): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', () => resolve()));
}

async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([promise, late.promise]);
  clearTimeout(timer);
}

function describe({ code, signal }: ProcessEnd): string {
  if (signal !== null) return `The agent was ended by ${signal}.`;
  return code === 0 ? 'The agent ended by itself.' : `The agent ended with exit code ${code}.`;
}

/** Waits until the agent has ended. Kills the process if only its connection has closed. */
async function findEnd(program: SandboxProcess, peer: Peer): Promise<AgentError> {
  const tail = keepTail([program.stderr], stderrBytesMax);
  program.stderr.on('error', () => {
    // The process has ended.
  });
  const stderrRead = closing(program.stderr);
  let alive = true;
  const gone = program.ended.then((end) => {
    alive = false;
    return end;
  });
  const fault = await Promise.race([peer.done, gone.then(() => undefined)]);
  if (fault === undefined) await atMost(drainMs, Promise.all([peer.done, gone, stderrRead]));
  if (alive) await program.kill();
  return fault ?? new AgentError('exited', describe(await gone), tail().trim());
}

/** Resolves with the reason for the end and closes the peer with it. Never rejects. */
export async function watchEnd(program: SandboxProcess, peer: Peer): Promise<AgentError> {
  const reason = await findEnd(program, peer).catch(
    (error: unknown) =>
      new AgentError('exited', 'The agent could not be stopped cleanly.', '', { cause: error }),
  );
  peer.close(reason);
  return reason;
}
