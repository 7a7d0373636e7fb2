// Copies what a snapshot holds out of the sandbox, encrypts it, and keeps it in the data folder until it is stored.
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenSandbox, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { copyMsMax, summaryBytesMax } from './bounds.ts';
import { type BlobBox, type Contents, newBlobName, type Piece } from './contents.ts';
import { type Frame, readFrames } from './inside/frames.ts';
import {
  leftOutReasons,
  type Section,
  type Summary,
  sections,
  sectionTypes,
  type TakeRefusal,
  type TakeRequest,
} from './inside/sections.ts';
import { takeProgram } from './program.ts';

const folderMode = 0o700;
const fileMode = 0o600;

export type NotCopiedReason = 'too_large' | 'changed' | 'timeout' | 'disk' | 'failed' | 'ended';

/** Why there is no copy, as the end of a sentence: "because …". */
export class NotCopied extends Error {
  readonly reason: NotCopiedReason;

  constructor(reason: NotCopiedReason, clause: string) {
    super(clause);
    this.reason = reason;
  }
}

export interface CopyBounds {
  readonly piecesMax: number;
  readonly copyBytesMax: number;
}

export interface Copy {
  readonly contents: Contents;
  readonly summary: Summary;
  readonly takenAt: number;
  /** The encrypted bytes of a piece that is new. */
  read(name: string): Promise<Buffer>;
  readonly isNew: (name: string) => boolean;
  discard(): Promise<void>;
}

/** The program inside is not trusted. */
function parseSummary(payload: Buffer): Summary {
  const { hasRepository, bytes, files, leftOut } = JSON.parse(payload.toString()) as Summary;
  const named = leftOut.files.slice(0, 20).map((file) => ({
    name: String(file.name).slice(0, 200),
    bytes: Math.max(0, Number(file.bytes) || 0),
    reason: leftOutReasons.find((reason) => reason === file.reason) ?? 'unreadable',
  }));
  return {
    hasRepository: hasRepository === true,
    bytes: Number(bytes),
    files: Number(files),
    leftOut: { files: named, count: Math.max(named.length, Math.trunc(Number(leftOut.count)) || 0) },
  };
}

interface CopyOptions {
  readonly sandbox: OpenSandbox;
  readonly request: TakeRequest;
  readonly bounds: CopyBounds;
  readonly box: BlobBox;
  /** The pieces that the store has, by their digest. */
  readonly known: ReadonlyMap<string, Piece>;
  /** The folder for copies. */
  readonly folder: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Collects pieces, and writes those that the store does not have. */
function createCollector({ box, known, bounds }: CopyOptions, folder: string) {
  const pieces: Partial<Record<Section, Piece[]>> = {};
  const fresh = new Map<string, Piece>();
  let count = 0;
  let total = 0;

  async function store(bytes: Buffer): Promise<Piece> {
    const digest = box.digest(bytes);
    const found = known.get(digest) ?? fresh.get(digest);
    if (found !== undefined) return found;
    const piece = { name: newBlobName(), digest };
    await writeFile(join(folder, piece.name), box.seal(piece.name, bytes), { mode: fileMode });
    fresh.set(digest, piece);
    return piece;
  }

  return {
    add: async ({ type, payload }: Frame): Promise<void> => {
      const section = sections.find((name) => sectionTypes[name] === type);
      count += 1;
      total += payload.length;
      if (section === undefined || count > bounds.piecesMax || total > bounds.copyBytesMax)
        throw new NotCopied('failed', 'the program that copies them did not keep to its bounds');
      const list = pieces[section] ?? [];
      pieces[section] = list;
      list.push(await store(payload));
    },
    pieces,
    names: () => new Set([...fresh.values()].map(({ name }) => name)),
  };
}

function refusalOf(payload: Buffer): NotCopied {
  return (payload.toString() as TakeRefusal) === 'changed'
    ? new NotCopied('changed', 'the repository was changed meanwhile')
    : new NotCopied('too_large', 'the commits that are not pushed exceed PARLEY_SNAPSHOT_MB');
}

async function receive(program: SandboxProcess, add: (frame: Frame) => Promise<void>): Promise<Summary> {
  for await (const frame of readFrames(program.stdout)) {
    if (frame.type === sectionTypes.refused) throw refusalOf(frame.payload);
    if (frame.type === sectionTypes.end && frame.payload.length <= summaryBytesMax)
      return parseSummary(frame.payload);
    await add(frame);
  }
  throw new NotCopied('failed', 'the program that copies them failed');
}

/** Throws NotCopied, and errors of this machine. Nothing is left then. */
export async function copyFiles(options: CopyOptions): Promise<Copy> {
  const { sandbox, request, folder: top, now, signal } = options;
  const takenAt = now();
  const folder = join(top, randomBytes(8).toString('hex'));
  const discard = () =>
    rm(folder, { recursive: true, force: true }).catch(() => {
      // A later start removes it.
    });
  const collector = createCollector(options, folder);
  const program = await sandbox.start(takeProgram);
  let isLate = false;
  const kill = () => void program.kill();
  const late = setTimeout(() => {
    isLate = true;
    kill();
  }, copyMsMax);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    await mkdir(folder, { recursive: true, mode: folderMode });
    program.stderr.resume();
    program.stdin.on('error', () => {}).end(JSON.stringify(request));
    const summary = await receive(program, collector.add);
    const contents = { hasRepository: summary.hasRepository, pieces: collector.pieces };
    const names = collector.names();
    const read = (name: string) => readFile(join(folder, name));
    return { contents, summary, takenAt, read, isNew: (name) => names.has(name), discard };
  } catch (error) {
    await discard();
    throw isLate ? new NotCopied('timeout', `that took longer than ${copyMsMax / 1_000} s`) : error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', kill);
    await program.kill();
  }
}
