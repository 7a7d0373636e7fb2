// Restores a snapshot in a sandbox: the pieces are fetched and verified outside, and everything else happens inside.
import { once } from 'node:events';
import type { OpenSandbox, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { restoreMsMax } from './bounds.ts';
import { type Contents, DamagedSnapshot, piecesOf } from './contents.ts';
import { toFrame } from './inside/frames.ts';
import {
  type RestoreRefusal,
  type RestoreReply,
  type Section,
  sections,
  sectionTypes,
} from './inside/sections.ts';
import { restoreProgram } from './program.ts';
import type { SnapshotBlobs } from './storeCalls.ts';

const replyBytesMax = 4_096;
/** Pieces that are fetched before the program inside needs them. */
const aheadMax = 3;

export interface RestoreOptions {
  readonly sandbox: OpenSandbox;
  readonly blobs: SnapshotBlobs;
  readonly contents: Contents;
  /** The environment of git, with which it reaches the remote. */
  readonly env: Readonly<Record<string, string>>;
  readonly hasRemote: boolean;
  /** Left out: only the workspace is restored. */
  readonly withoutHome?: boolean;
  readonly onProgress?: (done: number, all: number) => void;
  readonly signal: AbortSignal;
}

/** Writes until the program stops reading. */
async function send({ stdin, ended }: SandboxProcess, bytes: Buffer): Promise<void> {
  if (stdin.destroyed || stdin.write(bytes)) return;
  await Promise.race([once(stdin, 'drain').catch(() => {}), ended]);
}

async function* fetchPieces({ blobs, contents, withoutHome, onProgress, signal }: RestoreOptions) {
  const wanted = sections.filter((section) => section !== 'home' || withoutHome !== true);
  const list = wanted.flatMap((section) =>
    (contents.pieces[section] ?? []).map(({ name }) => ({ section, name })),
  );
  const ahead: { readonly section: Section; readonly bytes: Promise<Buffer> }[] = [];
  const all = list.length;
  for (let done = 0; done < all; done++) {
    while (ahead.length <= aheadMax && list.length > 0) {
      const { section, name } = list.shift() as { section: Section; name: string };
      const bytes = blobs.getPiece(name, signal);
      bytes.catch(() => {
        // Awaited below, unless an earlier one fails.
      });
      ahead.push({ section, bytes });
    }
    const next = ahead.shift();
    if (next !== undefined) yield toFrame(sectionTypes[next.section], await next.bytes);
    onProgress?.(done + 1, all);
  }
  yield toFrame(sectionTypes.end, Buffer.alloc(0));
}

function collect({ stdout, kill }: SandboxProcess): () => string {
  let text = '';
  stdout.on('data', (piece: Buffer) => {
    text += piece.toString();
    if (text.length > replyBytesMax) void kill();
  });
  return () => text;
}

const refusals: ReadonlySet<string> = new Set<RestoreRefusal>(['no_commit', 'full', 'failed']);

function parseReply(text: string): RestoreRefusal | undefined {
  try {
    const reply = JSON.parse(text) as RestoreReply;
    if ('restored' in reply) return undefined;
    return refusals.has(reply.refused) ? reply.refused : 'failed';
  } catch {
    return 'failed';
  }
}

/**
 * Expects an empty home, and a workspace that is empty or a fresh clone without checked out files. Returns why it could
 * not be restored; undefined if it was. Throws DamagedSnapshot, and BlobStoreError if the store cannot be used.
 */
export async function restoreFiles(options: RestoreOptions): Promise<RestoreRefusal | undefined> {
  const { sandbox, contents, env, hasRemote, signal } = options;
  if (piecesOf(contents).length === 0) throw new DamagedSnapshot('it is empty');
  const program = await sandbox.start(restoreProgram(env, !hasRemote));
  const kill = () => void program.kill();
  const late = setTimeout(kill, restoreMsMax);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  program.stdin.on('error', () => {
    // The program has ended, and its reply says why.
  });
  program.stderr.resume();
  const reply = collect(program);
  let isSent = false;
  let hasEnded = false;
  void program.ended.then(() => (hasEnded = true));
  try {
    await send(program, toFrame(0, Buffer.from(JSON.stringify({ home: sandbox.paths.home, hasRemote }))));
    for await (const frame of fetchPieces(options)) {
      if (hasEnded) break;
      await send(program, frame);
    }
    isSent = true;
  } finally {
    program.stdin.end();
    if (!isSent) kill();
    await program.ended;
    clearTimeout(late);
    signal.removeEventListener('abort', kill);
  }
  if (!program.stdout.closed) await once(program.stdout, 'close');
  return parseReply(reply());
}
