// The fake agent in a sandbox without walls: to speak to over real pipes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { type Agent, type AgentOptions, openAgent } from '../../src/agents/acp/agent.ts';
import type { SessionUpdate } from '../../src/agents/acp/update.ts';
import { openSandbox, type SandboxProcess } from '../../src/sandbox/openSandbox.ts';
import { processEngine } from '../../src/sandbox/processEngine.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

export const initializeMs = 20_000;

let built: string | undefined;

/** The fake agent in one file, which starts three times as fast and is all that a sandbox has to show. */
export function fakeAgentFile(): string {
  if (built !== undefined) return built;
  const folder = mkdtempSync(join(tmpdir(), 'parley-fake-agent-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, 'agent.mjs');
  buildSync({
    entryPoints: [resolve(import.meta.dirname, '../fakeAgent/agent.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    logLevel: 'error',
  });
  built = outfile;
  return outfile;
}

/** What starts it. Inside a sandbox, Node and `fakeAgentFile()` must be readable. */
export function fakeAgentArgv(...flags: readonly string[]): [string, ...string[]] {
  return [process.execPath, fakeAgentFile(), ...flags];
}

export interface FakeAgentSandbox {
  readonly workspace: string;
  readonly home: string;
  /** Starts another one in the same folders. */
  enter(...flags: readonly string[]): Promise<SandboxProcess>;
}

/** Folders of its own, and all that was started in them gone when the test ends. */
export async function openFakeAgentSandbox(t: After): Promise<FakeAgentSandbox> {
  const root = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  const [workspace, home] = ['workspace-', 'home-'].map((name) => mkdtempSync(join(root, name))) as [
    string,
    string,
  ];
  const sandbox = await openSandbox({
    engine: processEngine,
    spec: { name: 'test', workspace, home, readable: [], resourceFactor: 1, image: null },
  });
  t.after(async () => {
    await sandbox.close();
    rmSync(root, { recursive: true, force: true });
  });
  return { workspace, home, enter: (...flags) => sandbox.start({ argv: fakeAgentArgv(...flags), env: {} }) };
}

export interface FakeAgent {
  readonly agent: Agent;
  readonly program: SandboxProcess;
  readonly updates: readonly SessionUpdate[];
  readonly notices: readonly string[];
  /** All that it said so far, put together. */
  said(): string;
}

type Chosen = Partial<Omit<AgentOptions, 'program'>> & { readonly flags?: readonly string[] };

/** One that is opened, without a session. */
export async function openFakeAgent(sandbox: FakeAgentSandbox, chosen: Chosen = {}): Promise<FakeAgent> {
  const { flags = [], ...options } = chosen;
  const program = await sandbox.enter(...flags);
  const updates: SessionUpdate[] = [];
  const notices: string[] = [];
  const agent = await openAgent({
    program,
    cwd: sandbox.workspace,
    initializeMs,
    onUpdate: (update) => {
      updates.push(update);
    },
    onPermission: async () => 'cancelled',
    onNotice: (sentence) => notices.push(sentence),
    ...options,
  });
  return { agent, program, updates, notices, said: () => textOf(updates) };
}

/** What was said in these updates. */
export function textOf(updates: readonly SessionUpdate[]): string {
  return updates
    .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
    .map(({ content }) => (content as { text: string }).text)
    .join('');
}

/** A prompt for the fake agent, a line each. */
export function lines(...text: readonly string[]) {
  return [{ type: 'text' as const, text: text.join('\n') }];
}
