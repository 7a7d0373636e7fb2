// A git host on loopback: bare repositories over smart HTTP with authentication.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Listening, listenOnLoopback } from './mcpServer.ts';

/** Runs git without the configuration of the machine. */
export function git(cwd: string, args: readonly string[], input?: string | Buffer): string {
  return execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    ...(input === undefined ? {} : { input }),
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_NAME: 'Test',
      GIT_AUTHOR_EMAIL: 'test@example.com',
      GIT_COMMITTER_NAME: 'Test',
      GIT_COMMITTER_EMAIL: 'test@example.com',
    },
  }).trim();
}

export interface GitServer extends Listening {
  /** The folder of a bare repository, which is created if necessary. */
  repository(path: string): string;
}

interface GitServerOptions {
  /** `user:password`; no authentication if absent. */
  readonly credential?: string;
  /** Responses wait for this. */
  readonly opened?: Promise<void>;
  /** Requests that get 503, as if the host were down. */
  readonly isDown?: (request: IncomingMessage) => boolean;
  /** Handles other requests: the API of the host. */
  readonly api?: RequestListener;
}

const apiPaths = /^\/(api|2\.0)\//;

type After = Parameters<typeof listenOnLoopback>[0];

/** Runs `git http-backend` for the request, as a web server would. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
  const { headers } = request;
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method,
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '127.0.0.1',
      ...(headers['content-type'] && { CONTENT_TYPE: headers['content-type'] }),
      ...(headers['content-length'] && { CONTENT_LENGTH: headers['content-length'] }),
      ...(headers['content-encoding'] && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
      ...(typeof headers['git-protocol'] === 'string' && { GIT_PROTOCOL: headers['git-protocol'] }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  let head = Buffer.alloc(0);
  const readHead = (piece: Buffer) => {
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    backend.stdout.off('data', readHead);
    const lines = head.toString('latin1', 0, end).split('\r\n');
    const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s) as [string, string]));
    const { Status = '200', ...rest } = fields;
    response.writeHead(Number.parseInt(Status, 10), rest);
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on('data', readHead);
  backend.on('error', () => response.destroy());
}

export async function startGitServer(
  t: After,
  { credential, opened = Promise.resolve(), isDown = () => false, api }: GitServerOptions = {},
): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'parley-git-'));
  t.after(async () => rmSync(root, { recursive: true, force: true }));
  const wanted = credential && `Basic ${Buffer.from(credential).toString('base64')}`;
  const listening = await listenOnLoopback(t, (request, response) => {
    if (isDown(request)) response.writeHead(503).end();
    else if (api !== undefined && apiPaths.test(request.url ?? '')) api(request, response);
    else if (wanted !== undefined && request.headers.authorization !== wanted)
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end('Who are you?');
    else void opened.then(() => serve(root, request, response));
  });
  return {
    ...listening,
    repository: (path) => {
      const folder = join(root, `${path}.git`);
      mkdirSync(dirname(folder), { recursive: true });
      git(root, ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
      git(folder, ['config', 'uploadpack.allowFilter', 'true']);
      return folder;
    },
  };
}

/** A file of a commit: contents, or the target of a link. */
export type TestFile = string | { readonly link: string };

/** Commits only these files to a branch without a working tree, whatever their names are. */
export function commit(
  repository: string,
  branch: string,
  files: Readonly<Record<string, TestFile>>,
): string {
  const entries = Object.entries(files).map(([path, file]) => {
    const blob = git(
      repository,
      ['hash-object', '-w', '--stdin'],
      typeof file === 'string' ? file : file.link,
    );
    return { path: path.split('/'), mode: typeof file === 'string' ? '100644' : '120000', blob };
  });
  return commitTree(repository, branch, writeTree(repository, entries));
}

interface Entry {
  readonly path: readonly string[];
  readonly mode: string;
  readonly blob: string;
}

function writeTree(repository: string, entries: readonly Entry[]): string {
  const lines = entries
    .filter(({ path }) => path.length === 1)
    .map(({ path, mode, blob }) => `${mode} ${mode === '160000' ? 'commit' : 'blob'} ${blob}\t${path[0]}`);
  const folders = Map.groupBy(
    entries.filter(({ path }) => path.length > 1),
    ({ path }) => path[0] ?? '',
  );
  for (const [name, inside] of folders) {
    const tree = writeTree(
      repository,
      inside.map((entry) => ({ ...entry, path: entry.path.slice(1) })),
    );
    lines.push(`040000 tree ${tree}\t${name}`);
  }
  return git(repository, ['mktree', '--missing'], `${lines.join('\n')}\n`);
}

function commitTree(repository: string, branch: string, tree: string): string {
  const made = git(repository, ['commit-tree', '-m', 'made by a test', tree]);
  git(repository, ['update-ref', `refs/heads/${branch}`, made]);
  return made;
}

/** The name and mode of a submodule in a tree; its commit exists nowhere. */
export function commitWithSubmodule(repository: string, branch: string, url: string): string {
  const modules = `[submodule "lib"]\n\tpath = lib\n\turl = ${url}\n`;
  const blob = git(repository, ['hash-object', '-w', '--stdin'], modules);
  const tree = writeTree(repository, [
    { path: ['.gitmodules'], mode: '100644', blob },
    { path: ['lib'], mode: '160000', blob: '1'.repeat(40) },
  ]);
  return commitTree(repository, branch, tree);
}

/** A handful of objects, in which each folder names the next one ten times: a million files with long paths. */
export function commitManyFiles(repository: string, branch: string): string {
  const depth = 6;
  const width = 10;
  const nameLength = 240;
  let line = `100644 blob ${git(repository, ['hash-object', '-w', '--stdin'], 'a').trim()}`;
  for (let level = 0; level < depth; level++) {
    const names = Array.from({ length: width }, (_, index) => String(index).repeat(nameLength));
    const tree = git(repository, ['mktree'], names.map((name) => `${line}\t${name}\n`).join('')).trim();
    line = `040000 tree ${tree}`;
  }
  return commitTree(repository, branch, line.split(' ')[2] ?? '');
}
