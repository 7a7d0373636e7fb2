// Streams an archive or a patch of a workspace from the sandbox, and ends it when nobody reads it any more.
import { Readable } from 'node:stream';
import { gaveUp } from '../../process/gate.ts';
import type { OpenSandbox, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { downloadMs } from './bounds.ts';
import type { Download, InspectionBounds } from './inside/request.ts';
import { failed, readReply } from './inspect.ts';
import { inspectionInput, inspectionProgram } from './program.ts';

const brace = '{'.charCodeAt(0);

/** Fails if the program does, so that half of it is never mistaken for the whole. */
async function* piecesOf({ ended }: SandboxProcess, first: Buffer, rest: AsyncIterator<Buffer>) {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  const end = await ended;
  if (end.code !== 0) throw failed(end);
}

/** Resolves when the first bytes arrive. Throws refusals. Closing the stream ends the program. */
export async function download(
  sandbox: OpenSandbox,
  what: Download,
  bounds: InspectionBounds,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<Readable> {
  const program = await sandbox.start(inspectionProgram);
  const kill = () => void program.kill();
  const timer = setTimeout(kill, downloadMs);
  signal.addEventListener('abort', kill, { once: true });
  void program.ended.then(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  });
  if (signal.aborted) kill();
  program.stderr.resume();
  program.stdin.end(inspectionInput(what, bounds));

  const rest: AsyncIterator<Buffer> = program.stdout[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done) throw signal.aborted ? gaveUp() : failed(await program.ended);
  if (first.value[0] === brace) readReply(first.value.toString());
  const stream = Readable.from(piecesOf(program, first.value, rest), { objectMode: false });
  return stream.once('close', onEnd);
}
