// The fake agent as a process without a sandbox, over real pipes.
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

/** The fake agent bundled into one file, which starts three times as fast and is all that a sandbox needs. */
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

/** Its command line. In a sandbox, Node and `fakeAgentFile()` must be readable. */
export function fakeAgentArgv(...flags: readonly string[]): [string, ...string[]] {
  return [process.execPath, fakeAgentFile(), ...flags];
}

export interface FakeAgentSandbox {
  readonly workspace: string;
  readonly home: string;
  /** Starts another one in the same folders. */
  start(...flags: readonly string[]): Promise<SandboxProcess>;
}

/** Creates its folders. All processes end with the test. */
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
  return { workspace, home, start: (...flags) => sandbox.start({ argv: fakeAgentArgv(...flags), env: {} }) };
}

export interface FakeAgent {
  readonly agent: Agent;
  readonly program: SandboxProcess;
  readonly updates: readonly SessionUpdate[];
  readonly notices: readonly string[];
  /** Its whole text so far. */
  said(): string;
}

type Chosen = Partial<Omit<AgentOptions, 'program'>> & { readonly flags?: readonly string[] };

/** Opens the agent without a session. */
export async function openFakeAgent(sandbox: FakeAgentSandbox, chosen: Chosen = {}): Promise<FakeAgent> {
  const { flags = [], ...options } = chosen;
  const program = await sandbox.start(...flags);
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

/** The text of these updates. */
export function textOf(updates: readonly SessionUpdate[]): string {
  return updates
    .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
    .map(({ content }) => (content as { text: string }).text)
    .join('');
}

/** A prompt for the fake agent, one line each. */
export function lines(...text: readonly string[]) {
  return [{ type: 'text' as const, text: text.join('\n') }];
}
