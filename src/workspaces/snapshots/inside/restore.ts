// The program that restores a snapshot into a fresh clone, an empty repository or an empty folder. It runs in a sandbox
// with the workspace as its working directory, reads the sections as frames, and replies on standard output.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { applyRepository, unpackObjects } from './applyRepository.ts';
import { type Frame, readFrames } from './frames.ts';
import { NotRestored } from './git.ts';
import {
  type Manifest,
  pieceBytes,
  type RestoreReply,
  type RestoreRequest,
  type Section,
  sections,
  sectionTypes,
} from './sections.ts';
import { diskFull, endOf, extract } from './tar.ts';

const manifestBytesMax = 64 * 1_024 * 1_024;
const indexBytesMax = 512 * 1_024 * 1_024;
const unreadable = /unexpected eof|not recoverable|does not look like/i;

const root = realpathSync(process.cwd());

/** Frames in the order of their sections, each decompressed. */
async function* readPieces(frames: AsyncIterable<Frame>): AsyncGenerator<readonly [Section, Buffer]> {
  for await (const { type, payload } of frames) {
    if (type === sectionTypes.end) return;
    const section = sections.find((name) => sectionTypes[name] === type);
    if (section === undefined) throw new NotRestored('failed');
    yield [section, zstdDecompressSync(payload, { maxOutputLength: pieceBytes.max })];
  }
  // The service did not send everything.
  throw new NotRestored('failed');
}

async function feed(child: ChildProcess, bytes: Buffer): Promise<void> {
  const { stdin } = child;
  if (stdin === null || stdin.destroyed || stdin.write(bytes)) return;
  await new Promise<void>((resolve) => {
    stdin.once('drain', resolve);
    stdin.once('close', resolve);
  });
}

/** Receives the pieces of one section after the other. */
interface Receiver {
  add(bytes: Buffer): Promise<void> | void;
  end(): Promise<void> | void;
}

function toProgram(child: ChildProcess, isFine: (code: number, errors: string) => boolean): Receiver {
  const ended = endOf(child);
  child.stdin?.on('error', () => {
    // It has ended, which is reported below.
  });
  return {
    add: (bytes) => feed(child, bytes),
    end: async () => {
      child.stdin?.end();
      const { code, errors } = await ended;
      if (!isFine(code, errors)) throw new NotRestored(diskFull.test(errors) ? 'full' : 'failed');
    },
  };
}

function toMemory(bytesMax: number, take: (bytes: Buffer) => void): Receiver {
  const parts: Buffer[] = [];
  let length = 0;
  return {
    add: (bytes) => {
      length += bytes.length;
      if (length > bytesMax) throw new NotRestored('failed');
      parts.push(bytes);
    },
    end: () => take(Buffer.concat(parts)),
  };
}

function createReceivers({ home }: RestoreRequest) {
  let manifest: Manifest | undefined;
  let index: Buffer | undefined;
  // Tar ends with 2 if it could not restore a file exactly, such as a link to one that was left out.
  const toTar = (folder: string) =>
    toProgram(
      extract(folder),
      (code, errors) => code <= 2 && !unreadable.test(errors) && !diskFull.test(errors),
    );
  const receivers: Record<Section, () => Receiver> = {
    manifest: () => toMemory(manifestBytesMax, (bytes) => (manifest = JSON.parse(bytes.toString()))),
    pack: () => toProgram(unpackObjects(root), (code) => code === 0),
    index: () => toMemory(indexBytesMax, (bytes) => (index = bytes)),
    files: () => toTar(root),
    git: () => {
      // The logs of the clone do not belong to the history that is restored.
      rmSync(join(root, '.git/logs'), { recursive: true, force: true });
      mkdirSync(join(root, '.git'), { recursive: true });
      return toTar(join(root, '.git'));
    },
    home: () => toTar(home),
  };
  return { receivers, manifest: () => manifest, index: () => index };
}

async function restore(request: RestoreRequest, frames: AsyncIterable<Frame>): Promise<void> {
  const { receivers, manifest, index } = createReceivers(request);
  let current: { readonly section: Section; readonly receiver: Receiver } | undefined;
  let isApplied = false;

  /** Before any file of the snapshot, because it overwrites the whole tree. */
  async function applyOnce(): Promise<void> {
    if (isApplied) return;
    isApplied = true;
    const repository = manifest()?.repository;
    if (repository === undefined) throw new NotRestored('failed');
    if (repository !== null) await applyRepository(root, repository, index(), request.hasRemote);
  }

  async function enter(section: Section): Promise<void> {
    await current?.receiver.end();
    if (section === 'files' || section === 'git' || section === 'home') await applyOnce();
    current = { section, receiver: receivers[section]() };
  }

  for await (const [section, bytes] of readPieces(frames)) {
    if (current?.section !== section) await enter(section);
    await current?.receiver.add(bytes);
  }
  await current?.receiver.end();
  await applyOnce();
}

async function answer(): Promise<RestoreReply> {
  const frames = readFrames(process.stdin);
  try {
    const first = await frames.next();
    if (first.done) throw new NotRestored('failed');
    await restore(JSON.parse(first.value.payload.toString()) as RestoreRequest, frames);
    return { restored: true };
  } catch (error) {
    if (error instanceof NotRestored) return { refused: error.refusal };
    const { code } = error as NodeJS.ErrnoException;
    return { refused: code === 'ENOSPC' || code === 'EDQUOT' ? 'full' : 'failed' };
  }
}

writeFileSync(process.stdout.fd, JSON.stringify(await answer()));
// The service may still be sending.
process.exit(0);
