// Workspaces for tests, made by hand with real git.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openSandbox } from '../../src/sandbox/openSandbox.ts';
import { processEngine } from '../../src/sandbox/processEngine.ts';
import { inspectionBounds } from '../../src/workspaces/read/bounds.ts';
import type { Inspection } from '../../src/workspaces/read/inside/request.ts';
import { inspectWorkspace } from '../../src/workspaces/read/inspect.ts';
import { inspectionReadable } from '../../src/workspaces/read/program.ts';
import { writeReadable } from '../../src/workspaces/write/program.ts';
import { inspect } from './inspect.ts';
import type { TestService } from './service.ts';

/** Runs git with only the repository's own configuration. */
export function git(folder: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  return execFileSync('git', ['-c', 'init.defaultBranch=main', ...identity, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

export type Files = Readonly<Record<string, string | Buffer>>;

export function putFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

export function commitFiles(folder: string, files: Files): void {
  putFiles(folder, files);
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', 'more');
}

/** Makes a folder a clone of a new repository with these files. */
export function cloneInto(folder: string, files: Files): void {
  const origin = `${folder}-origin`;
  mkdirSync(origin, { recursive: true });
  git(origin, 'init', '--quiet');
  commitFiles(origin, files);
  git(dirname(folder), 'clone', '--quiet', origin, folder);
}

export function makeFolder(t: { after(fn: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-workspace-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A sandbox without any boundary: what is not followed there is followed nowhere. */
export function openInspectionSandbox(workspace: string) {
  const spec = {
    name: 'look',
    workspace,
    home: workspace,
    readable: inspectionReadable,
    resourceFactor: 1,
    image: null,
  };
  return openSandbox({ engine: processEngine, spec });
}

/** The same, for files that are written. */
export function openWriteSandbox(workspace: string) {
  const spec = {
    name: 'write',
    workspace,
    home: workspace,
    readable: writeReadable,
    resourceFactor: 1,
    image: null,
  };
  return openSandbox({ engine: processEngine, spec });
}

export async function look(
  workspace: string,
  what: Inspection,
  bounds = {},
  signal = new AbortController().signal,
): Promise<unknown> {
  return inspectWorkspace(
    await openInspectionSandbox(workspace),
    what,
    { ...inspectionBounds, ...bounds },
    signal,
  );
}

/** A new conversation, and the folder of its workspace. */
export async function newConversationFolder({ ask, storage }: Pick<TestService, 'ask' | 'storage'>) {
  const { body } = await ask('/api/conversations', { json: {} });
  const id: string = body.conversation_id;
  const [row] = await inspect(storage, `select key, user_id from conversations where id = '${id}'`);
  const folder = join(storage.dataDir, 'conversations', String(row?.['key']), 'workspace');
  mkdirSync(join(dirname(folder), 'home'), { recursive: true });
  writeFileSync(join(dirname(folder), 'conversation'), `${row?.['user_id']} ${id}\n`);
  return { id, folder };
}
