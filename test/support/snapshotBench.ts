// Takes and restores snapshots of folders, with the real programs and a store in a folder, but without a service.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createFolderStore } from '../../src/blobs/folderStore.ts';
import type { OpenSandbox } from '../../src/sandbox/openSandbox.ts';
import { openSandbox } from '../../src/sandbox/openSandbox.ts';
import { processEngine } from '../../src/sandbox/processEngine.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { copyBytesMaxOf, gitAddressBytesMax, piecesMaxOf } from '../../src/workspaces/snapshots/bounds.ts';
import { type Contents, createBlobBox, piecesOf } from '../../src/workspaces/snapshots/contents.ts';
import { type Copy, copyFiles } from '../../src/workspaces/snapshots/copy.ts';
import type { RestoreRefusal, SnapshotLimits } from '../../src/workspaces/snapshots/inside/sections.ts';
import { snapshotReadable } from '../../src/workspaces/snapshots/program.ts';
import { restoreFiles } from '../../src/workspaces/snapshots/restore.ts';
import { createSnapshotBlobs } from '../../src/workspaces/snapshots/storeCalls.ts';
import { git } from './gitServer.ts';
import { temporaryFolder } from './snapshots.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

export interface Place {
  readonly workspace: string;
  readonly home: string;
  readonly sandbox: OpenSandbox;
}

export interface TakenSnapshot {
  readonly contents: Contents;
  readonly summary: Copy['summary'];
  /** How many of its pieces were new. */
  readonly newPieces: number;
}

const owner = { id: 'f0', user_id: 1, conversation_id: 'c' };
const { signal } = new AbortController();

export function createSnapshotBench(t: After, engine: SandboxEngine = processEngine) {
  const store = createFolderStore(temporaryFolder(t));
  const spool = temporaryFolder(t);
  const box = createBlobBox(randomBytes(32), owner);
  const blobs = createSnapshotBlobs(store, owner.id, box);
  let count = 0;

  async function newPlace(): Promise<Place> {
    const top = temporaryFolder(t);
    const [workspace, home] = [join(top, 'workspace'), join(top, 'home')];
    for (const folder of [workspace, home]) mkdirSync(folder);
    const name = `test-${++count}`;
    const spec = { name, workspace, home, readable: snapshotReadable, resourceFactor: 1, image: null };
    const sandbox = await openSandbox({ engine, spec });
    t.after(() => sandbox.close());
    return { workspace, home, sandbox };
  }

  async function take(
    { sandbox }: Place,
    {
      hasRemote = false,
      before,
      limits = {},
    }: { hasRemote?: boolean; before?: TakenSnapshot; limits?: Partial<SnapshotLimits> } = {},
  ): Promise<TakenSnapshot> {
    const all = {
      bytesMax: 50_000_000,
      filesMax: 5_000,
      fileBytesMax: 20_000_000,
      gitAddressBytesMax,
      ...limits,
    };
    const known = before === undefined ? [] : piecesOf(before.contents);
    const copy = await copyFiles({
      sandbox,
      request: { limits: all, home: sandbox.paths.home, hasRemote },
      bounds: {
        piecesMax: piecesMaxOf(all.bytesMax),
        copyBytesMax: copyBytesMaxOf(all.bytesMax, all.filesMax),
      },
      box,
      known: new Map(known.map((piece) => [piece.digest, piece])),
      folder: spool,
      now: Date.now,
      signal,
    });
    const fresh = [...new Set(piecesOf(copy.contents).map(({ name }) => name))].filter(copy.isNew);
    await blobs.putAll(fresh, copy.read, signal);
    await copy.discard();
    return { contents: copy.contents, summary: copy.summary, newPieces: fresh.length };
  }

  /** Into a clone of `remote`, or an empty repository. */
  async function restore(
    taken: TakenSnapshot,
    { remote, place }: { remote?: string; place?: Place } = {},
  ): Promise<Place & { readonly refusal: RestoreRefusal | undefined }> {
    const target = place ?? (await newPlace());
    const { workspace, sandbox } = target;
    if (taken.contents.hasRepository)
      git(
        workspace,
        remote === undefined ? ['init', '--quiet', '.'] : ['clone', '--quiet', '--no-checkout', remote, '.'],
      );
    const env = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };
    const refusal = await restoreFiles({
      sandbox,
      blobs,
      contents: taken.contents,
      env,
      hasRemote: remote !== undefined,
      signal,
    });
    return { ...target, refusal };
  }

  return { newPlace, take, restore, spooled: () => readdirSync(spool) };
}
