// The program that writes uploaded files into a workspace. It runs in a sandbox with the workspace as its working
// directory, reads files as frames from standard input, and replies on standard output.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, lstatSync, opendirSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFrames } from './frames.ts';
import { placeFile } from './place.ts';
import {
  frameTypes,
  partialPrefix,
  type WriteRefusal,
  type WriteReply,
  type WrittenFile,
} from './request.ts';

interface PartialFile {
  readonly path: string;
  readonly name: string;
  readonly fd: number;
}

/** Longer than any upload may take. */
const abandonedMs = 30 * 60_000;
const lookedAtMax = 100_000;

const fullCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

function refusalOf(error: unknown): WriteRefusal {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return fullCodes.has(code ?? '') ? 'full' : 'unwritable';
}

/** Removes what earlier uploads left when they were killed. */
function removeAbandoned(): void {
  const folder = opendirSync('.');
  try {
    let looked = 0;
    for (let entry = folder.readSync(); entry !== null && looked < lookedAtMax; entry = folder.readSync()) {
      looked += 1;
      if (!entry.isFile() || !entry.name.startsWith(partialPrefix)) continue;
      const since = lstatSync(entry.name, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - since > abandonedMs) rmSync(entry.name, { force: true });
    }
  } finally {
    folder.closeSync();
  }
}

function openPartial(name: string): PartialFile {
  const path = partialPrefix + randomBytes(12).toString('hex');
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  return { path, name, fd: openSync(path, flags, 0o644) };
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Returns whether the frames are complete. */
async function receive(files: PartialFile[]): Promise<boolean> {
  for await (const { type, payload } of readFrames(process.stdin)) {
    const current = files.at(-1);
    if (type === frameTypes.file) {
      if (current !== undefined) closeSync(current.fd);
      files.push(openPartial(payload.toString()));
    } else if (type === frameTypes.data && current !== undefined) writeAll(current.fd, payload);
    else if (type === frameTypes.commit) return true;
  }
  return false;
}

/** Places all files, or none. */
function placeAll(files: readonly PartialFile[]): WriteReply {
  const created: string[] = [];
  const written: WrittenFile[] = [];
  try {
    for (const { path, name: sent } of files) {
      const placed = placeFile(path, sent);
      if (placed === undefined) {
        for (const name of created) rmSync(name, { force: true });
        return { refused: 'taken' };
      }
      if (placed.isNew) created.push(placed.name);
      written.push({ sent, name: placed.name });
    }
  } catch (error) {
    for (const name of created) rmSync(name, { force: true });
    throw error;
  }
  return { written };
}

async function write(files: PartialFile[]): Promise<WriteReply | undefined> {
  try {
    removeAbandoned();
    return (await receive(files)) ? placeAll(files) : undefined;
  } catch (error) {
    return { refused: refusalOf(error) };
  } finally {
    for (const { path } of files) rmSync(path, { force: true });
  }
}

const reply = await write([]);
if (reply !== undefined) process.stdout.write(JSON.stringify(reply));
// The service may still be sending.
process.stdin.destroy();
