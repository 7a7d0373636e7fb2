// Writes files into a workspace: a program in a sandbox gets them, and keeps all of them or none.
import { once } from 'node:events';
import { AppError, type ErrorCode } from '../../errors.ts';
import type { OpenSandbox, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { mib } from '../../validation/schema.ts';
import { uploadMs } from './bounds.ts';
import type { WriteRefusal, WriteReply, WrittenFile } from './inside/request.ts';
import { writeProgram } from './program.ts';

const replyBytesMax = mib;
/** How long the program may take to remove what it has written. */
const cleanUpMs = 10_000;

const sentences: Readonly<Record<WriteRefusal, readonly [ErrorCode, string]>> = {
  full: ['limit_reached', 'The disk is full, so nothing was stored.'],
  unwritable: ['limit_reached', 'The workspace cannot be written, so nothing was stored.'],
  taken: ['limit_reached', 'Too many files in the workspace have this name already; rename the file.'],
};

/** Writes until the frames end or the program stops reading. */
async function send({ stdin, ended }: SandboxProcess, frames: AsyncIterable<Buffer>): Promise<void> {
  let gone = false;
  const left = ended.then(() => (gone = true));
  stdin.on('error', () => (gone = true));
  for await (const frame of frames) {
    if (gone) return;
    if (!stdin.write(frame)) await Promise.race([once(stdin, 'drain').catch(() => {}), left]);
  }
}

function collect({ stdout, kill }: SandboxProcess): () => Buffer {
  const pieces: Buffer[] = [];
  let bytes = 0;
  stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > replyBytesMax) void kill();
    else pieces.push(piece);
  });
  return () => Buffer.concat(pieces);
}

function readReply(text: string): readonly WrittenFile[] {
  const reply = JSON.parse(text) as WriteReply;
  if ('written' in reply) return reply.written;
  throw new AppError(...sentences[reply.refused]);
}

/** Rethrows errors of the frames, after everything that was written is gone. */
export async function writeFiles(
  sandbox: OpenSandbox,
  frames: AsyncIterable<Buffer>,
): Promise<readonly WrittenFile[]> {
  const program = await sandbox.start(writeProgram);
  const reply = collect(program);
  program.stderr.resume();
  let late = setTimeout(program.kill, uploadMs);
  try {
    await send(program, frames);
  } finally {
    clearTimeout(late);
    late = setTimeout(program.kill, cleanUpMs);
    program.stdin.end();
    await program.ended;
    clearTimeout(late);
  }
  if (!program.stdout.closed) await once(program.stdout, 'close');
  const text = reply().toString();
  const { code, signal } = await program.ended;
  if (text === '') throw new Error(`the program that writes uploads ended with ${code ?? signal}`);
  return readReply(text);
}
