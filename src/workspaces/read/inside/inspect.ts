// The program that reads a workspace. It runs in a sandbox with the workspace as its working directory, takes one
// request on standard input, and answers on standard output.
import { realpathSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { listChanges, readDiff } from './changes.ts';
import { Refused, readContained } from './contained.ts';
import { readInstructions } from './instructions.ts';
import { createPatch } from './patch.ts';
import type { InspectionReply, InspectionRequest, Refusal } from './request.ts';
import { toText } from './text.ts';
import { listFolder, listTree } from './tree.ts';
import { zip } from './zip.ts';

function readFile(root: string, path: string, bytesMax: number): string {
  const bytes = readContained(root, path, bytesMax);
  if (bytes === undefined) throw new Refused('missing');
  return toText(bytes);
}

async function inspect(root: string, request: InspectionRequest): Promise<unknown> {
  const { bounds } = request;
  switch (request.command) {
    case 'changes':
      return listChanges(root, bounds);
    case 'diff':
      return readDiff(root, request.path, bounds);
    case 'list':
      return listFolder(root, request.path, bounds);
    case 'microagents':
      return readInstructions(root);
    case 'read':
      return { code: readFile(root, request.path, bounds.fileBytesMax) };
    case 'zip':
    case 'patch':
      throw new Error('a download is not an answer');
  }
}

/** Errors of the system are not ours: the workspace is in whatever state its users left it. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if ((error as NodeJS.ErrnoException).syscall !== undefined) return 'unreadable';
  throw error;
}

async function answer(root: string, request: InspectionRequest): Promise<Readable> {
  const reply = (reply: InspectionReply) => Readable.from([JSON.stringify(reply)]);
  try {
    if (request.command === 'zip') {
      const { bounds } = request;
      // The whole tree is read before the first byte, so that an archive that is too large is refused and not cut off.
      return Readable.from(zip(listTree(root, bounds), bounds.zipBytesMax));
    }
    if (request.command === 'patch')
      return Readable.from([await createPatch(root, request.from, request.bounds)]);
    return reply({ answer: await inspect(root, request) });
  } catch (error) {
    return reply({ refused: refusalOf(error) });
  }
}

const request = JSON.parse(await text(process.stdin)) as InspectionRequest;
await pipeline(await answer(realpathSync(process.cwd()), request), process.stdout);
