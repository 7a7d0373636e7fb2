// A service that runs conversations with the fake agent.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { AppOptions } from '../../src/app.ts';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { type AgentStart, readStarts } from '../fakeAgent/starts.ts';
import { createStorage, type StorageLocation, type TestStorage } from './databases.ts';
import { fakeAgentFile } from './fakeAgent.ts';
import { inspect } from './inspect.ts';
import { startService, type TestService } from './service.ts';
import { until } from './until.ts';

let folder: string | undefined;

/** A PATH folder that contains the fake agent as a program. */
export function fakeAgentPath(): string {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(tmpdir(), 'parley-fake-path-'));
  const made = folder;
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  const program = join(folder, 'parley-fake-agent');
  copyFileSync(fakeAgentFile(), program);
  // The shebang makes it a program that Node runs.
  writeFileSync(program, `#!/usr/bin/env node\n${readFileSync(program, 'utf8')}`);
  chmodSync(program, 0o755);
  return folder;
}

/** Agent profiles: `fake` and `other`, started with these flags, `slow`, and `absent`, which is not installed. */
export function writeAgents(dataDir: string, flags: readonly string[] = []): void {
  const profile = (id: string, command: string, args: readonly string[] = []) => ({
    id,
    name: id,
    protocol: 'openai-chat',
    asks: 'all',
    programs: [{ command, args, env: {} }],
  });
  const agents = [
    profile('fake', 'parley-fake-agent', flags),
    profile('other', 'parley-fake-agent', flags),
    profile('slow', 'parley-fake-agent', ['--slow-start', '60000']),
    profile('absent', 'parley-no-such-agent'),
  ];
  writeFileSync(join(dataDir, 'agents.json'), JSON.stringify({ agents }));
}

export interface TestEvent {
  readonly id: number;
  readonly source: string;
  readonly message: string;
  readonly action?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly observation?: string;
  readonly content?: string;
  readonly extras?: Readonly<Record<string, unknown>>;
  readonly tool_call_id?: string;
  readonly cause?: number;
}

export interface Info {
  readonly status: string;
  readonly agent_state: string | null;
  readonly runtime_status: string | null;
  readonly start_progress: { readonly step: string; readonly details: string | null } | null;
  readonly confirmation_mode: boolean | null;
  readonly stop_reason: { readonly code: string; readonly message: string } | null;
}

export interface RunsOptions {
  readonly kind?: DatabaseKind;
  readonly flags?: readonly string[];
  readonly sandbox?: 'process' | 'bubblewrap' | 'docker' | 'kubernetes' | 'auto';
  readonly env?: Record<string, string>;
  readonly times?: AppOptions['times'];
  /** Settings of the owner beside the agent. */
  readonly settings?: Record<string, unknown>;
  readonly storage?: TestStorage;
}

export interface Runs {
  readonly service: TestService;
  create(message?: string, more?: Record<string, unknown>): Promise<string>;
  say(id: string, message: string): Promise<void>;
  stop(id: string): Promise<void>;
  cancel(id: string): Promise<void>;
  start(id: string): Promise<void>;
  info(id: string): Promise<Info>;
  /** All events, which must be numbered without gaps. */
  events(id: string): Promise<TestEvent[]>;
  /** Waits for the status; fails if it stops instead. */
  reaches(id: string, status: string): Promise<Info>;
  /** Waits until this many turns have ended, and returns what the agent said. */
  turns(id: string, count: number): Promise<string[]>;
}

const pageMax = 100;

/** The folder of a conversation, and the agents that were started there so far. */
export async function filesOf(
  storage: StorageLocation,
  id: string,
): Promise<{ readonly root: string; readonly home: string; agents(): AgentStart[] }> {
  const [row] = await inspect(storage, `select key from conversations where id = '${id}'`);
  const root = join(storage.dataDir, 'conversations', String(row?.['key']));
  const home = join(root, 'home');
  return { root, home, agents: () => readStarts(home) };
}

export async function startRuns(
  options: RunsOptions,
  t: { after(fn: () => Promise<void>): void },
): Promise<Runs> {
  if (!(process.env['PATH'] ?? '').split(delimiter).includes(fakeAgentPath()))
    process.env['PATH'] = `${fakeAgentPath()}${delimiter}${process.env['PATH']}`;
  const storage = options.storage ?? (await createStorage(options.kind ?? 'sqlite'));
  if (!existsSync(join(storage.dataDir, 'agents.json'))) writeAgents(storage.dataDir, options.flags);
  const service = await startService(
    {
      storage,
      env: { PARLEY_ROLE: 'all', PARLEY_SANDBOX: options.sandbox ?? 'process', ...options.env },
      ...(options.times === undefined ? {} : { times: options.times }),
    },
    t,
  );
  // Hooks run in the order of registration, and the service must be closed first.
  if (options.storage === undefined) t.after(() => storage.remove());
  await service.ask('/api/settings', { json: { agent: 'fake', ...options.settings } });
  return { service, ...createRunsClient(service.ask) };
}

/** The same for a service of another process. */
export function createRunsClient(ask: TestService['ask']): Omit<Runs, 'service'> {
  const path = (id: string, rest = '') => `/api/conversations/${id}${rest}`;

  async function info(id: string): Promise<Info> {
    return (await ask(path(id))).body;
  }

  async function events(id: string): Promise<TestEvent[]> {
    const all: TestEvent[] = [];
    for (;;) {
      const { body } = await ask(path(id, `/events?start_id=${all.length}&limit=${pageMax}`));
      for (const event of body.events) {
        if (event.id !== all.length) throw new Error(`event ${event.id} stands where ${all.length} should`);
        all.push(event);
      }
      if (!body.has_more) return all;
    }
  }

  async function post(id: string, action: string): Promise<void> {
    const { status, text } = await ask(path(id, `/${action}`), { method: 'POST' });
    if (status !== 200) throw new Error(text);
  }

  const stateOf = ({ extras }: TestEvent) => extras?.['agent_state'];

  return {
    info,
    events,
    stop: (id) => post(id, 'stop'),
    cancel: (id) => post(id, 'cancel'),
    start: (id) => post(id, 'start'),
    create: async (message, more = {}) => {
      const json = { ...(message === undefined ? {} : { initial_user_msg: message }), ...more };
      const { status, body, text } = await ask('/api/conversations', { json });
      if (status !== 200) throw new Error(text);
      return body.conversation_id;
    },
    say: async (id, message) => {
      const { status, text } = await ask(path(id, '/message'), { json: { message } });
      if (status !== 200) throw new Error(text);
    },
    reaches: (id, status) =>
      until(
        `it is ${status}`,
        async () => {
          const now = await info(id);
          if (now.status === 'STOPPED' && status !== 'STOPPED')
            throw new Error(`it stopped: ${JSON.stringify(now.stop_reason)}`);
          return now.status === status && now;
        },
        20_000,
      ),
    turns: (id, count) =>
      until(
        `${count} turns have ended`,
        async () => {
          const all = await events(id);
          const running = all.filter((event) => stateOf(event) === 'running').length;
          const ended = stateOf(all.at(-1) as TestEvent) === 'awaiting_user_input' && running >= count;
          const said = all.filter(({ source, action }) => source === 'agent' && action === 'message');
          return ended && said.map(({ args }) => String(args?.['content']));
        },
        20_000,
      ),
  };
}
