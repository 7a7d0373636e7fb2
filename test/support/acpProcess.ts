// `parley acp` as a process, as an editor starts it. The service that it starts ends with the test, too.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { findService } from '../../src/cli/connection/runningService.ts';
import { type AcpClientOptions, connectAcp, type TestAcpClient } from './acpClient.ts';
import type { StorageLocation } from './databases.ts';
import { compileCacheDir, mainFile } from './program.ts';
import { createRunsClient, fakeAgentPath, type Runs, writeAgents } from './runs.ts';
import { ask } from './service.ts';
import { until } from './until.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

/** The announcement of a running service. The service may withdraw it at any moment. */
export function serviceOf(dataDir: string): { readonly url: string; readonly pid: number } | undefined {
  try {
    const [, pid] = readFileSync(join(dataDir, 'service.url'), 'utf8').split('\n');
    const url = findService(dataDir);
    return url === undefined ? undefined : { url, pid: Number(pid) };
  } catch {
    return undefined;
  }
}

export interface Editor {
  readonly stream: Stream;
  /** Everything on stdout, line by line. */
  lines(): string[];
  stderr(): string;
  connect(options?: AcpClientOptions): Promise<TestAcpClient>;
  send(signal: NodeJS.Signals): void;
  closeInput(): void;
  ended(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export function startEditor(env: Record<string, string>, t: After, argv = ['acp']): Editor {
  const child = spawn(process.execPath, [mainFile, ...argv], { cwd: tmpdir(), env, stdio: 'pipe' });
  t.after(async () => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (piece) => (stdout += piece));
  child.stderr.on('data', (piece) => (stderr += piece));
  // A process that has ended no longer reads.
  child.stdin.on('error', () => {});
  let end: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  child.on('exit', (code, signal) => (end = { code, signal }));
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
  );
  return {
    stream,
    lines: () => stdout.split('\n').filter((line) => line !== ''),
    stderr: () => stderr,
    connect: (options) => connectAcp(stream, options),
    send: (signal) => void child.kill(signal),
    closeInput: () => void child.stdin.end(),
    ended: () => until('the end of parley acp', () => end, 30_000),
  };
}

export interface EditorSite extends StorageLocation {
  environment(more?: Record<string, string>): Record<string, string>;
  open(more?: Record<string, string>): Editor;
  /** Waits for the service that was started, and uses the fake agent. */
  useFakeAgent(settings?: Record<string, unknown>): Promise<Omit<Runs, 'service'>>;
  /** Ends the service, if one runs. */
  endService(signal: NodeJS.Signals): Promise<void>;
}

interface SiteOptions {
  readonly databaseUrl?: string | undefined;
  /** Whether the folder exists, with the profile of the fake agent. */
  readonly exists?: boolean;
}

/** A data folder without a service. */
export function createEditorSite(t: After, { databaseUrl, exists = true }: SiteOptions = {}): EditorSite {
  const root = mkdtempSync(join(tmpdir(), 'parley-editor-'));
  const dataDir = join(root, 'data');
  if (exists) {
    mkdirSync(dataDir);
    writeAgents(dataDir);
  }

  async function endService(signal: NodeJS.Signals): Promise<void> {
    const service = serviceOf(dataDir);
    if (service === undefined) return;
    process.kill(service.pid, signal);
    await until('the service has ended', () => serviceOf(dataDir)?.pid !== service.pid);
  }

  t.after(async () => {
    await endService('SIGTERM');
    // Agents of a service that was killed end with their input.
    await until('the folder can be removed', () => {
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
      return true;
    });
  });

  const environment = (more: Record<string, string> = {}) => ({
    PATH: `${fakeAgentPath()}${delimiter}${process.env['PATH']}`,
    HOME: root,
    NODE_COMPILE_CACHE: compileCacheDir,
    PORT: '0',
    PARLEY_DATA_DIR: dataDir,
    PARLEY_SANDBOX: 'process',
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...more,
  });

  return {
    dataDir,
    databaseUrl,
    environment,
    endService,
    open: (more) => startEditor(environment(more), t),
    useFakeAgent: async (settings = {}) => {
      const { url } = await until('a service runs', () => serviceOf(dataDir), 30_000);
      const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
      await ask(url, '/api/settings', { key, json: { agent: 'fake', ...settings } });
      // The service may have another URL later.
      return createRunsClient((path, asked = {}) =>
        ask(serviceOf(dataDir)?.url ?? url, path, { key, ...asked }),
      );
    },
  };
}
