// Drives an agent against a scripted model, from its start to its answer, and tells what it could do.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Agent, openAgent, type PermissionRequest } from '../acp/agent.ts';
import { AgentError } from '../acp/errors.ts';
import type { SessionUpdate } from '../acp/update.ts';
import { createBridge } from '../bridge/bridge.ts';
import { type OpenCell, openCell } from '../sandbox/openCell.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Found } from './find.ts';
import { type Confirmation, launchOf, modeIdOf } from './launch.ts';
import type { Profile } from './profiles.ts';
import { createScriptedModel, type ScriptedModel } from './scriptedModel/server.ts';

const initializeMs = 60_000;
const turnMs = 180_000;

const model = 'scripted-model';
const written = 'written by the agent';
const answer = 'The scripted work is done.';
const instruction = 'Standing instruction of the trial: keep to the script.';

export interface TrialStep {
  readonly name: string;
  readonly ms: number | undefined;
  /** Why it failed, for people. */
  readonly fault: string | undefined;
}

interface TrialOptions {
  readonly profile: Profile;
  readonly found: Found;
  readonly sandbox: Sandbox;
  readonly mode: Confirmation;
  /** An empty folder, for workspace and home. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Called as each step is done. */
  onStep(step: TrialStep): void;
}

class TrialFault extends Error {}

function explain(error: unknown, token: string): string {
  const details = error instanceof AgentError && error.details !== '' ? `\n${error.details}` : '';
  return `${(error as Error).message}${details}`.replaceAll(token, '[token]');
}

function allow({ options }: PermissionRequest): { optionId: string } {
  const option = options.find(({ kind }) => kind === 'allow_once') ?? options[0];
  if (option === undefined) throw new TrialFault('It asks for permission without a way to give it.');
  return { optionId: option.optionId };
}

function textOf({ sessionUpdate, content }: SessionUpdate): string {
  const { text } = (content ?? {}) as { text?: unknown };
  return sessionUpdate === 'agent_message_chunk' && typeof text === 'string' ? text : '';
}

function within(ms: number, signal: AbortSignal): { readonly late: Promise<never>; clear(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TrialFault(`It took longer than ${ms / 1_000} s.`)), ms);
  signal.addEventListener('abort', () => reject(new TrialFault('The trial was ended.')), { once: true });
  promise.catch(() => {});
  return { late: promise, clear: () => clearTimeout(timer) };
}

/** What must be true after the turn: a name, and why it is not, where it is not. */
function outcomes(trial: {
  readonly workspace: string;
  readonly scripted: ScriptedModel;
  readonly said: string;
  readonly asked: number;
  readonly mode: Confirmation;
  readonly profile: Profile;
}): [string, string | undefined][] {
  const { workspace, scripted, said, asked, mode, profile } = trial;
  const { exchanges } = scripted;
  const fault = exchanges.flatMap(({ answer }) => (answer.call === undefined ? (answer.fault ?? []) : []))[0];
  const results = exchanges.at(-1)?.asked.results ?? [];
  const holds = (name: string) => {
    const file = join(workspace, name);
    return existsSync(file) && readFileSync(file, 'utf8').trim() === written;
  };
  const last = (i: number) => fault ?? `its tool said: ${(results[i] ?? 'nothing').slice(0, 500)}`;
  const list: [string, string | undefined][] = [
    [
      'reaches its model',
      exchanges.some(({ asked }) => asked.model === model) ? undefined : 'no request for the model came in',
    ],
    ['writes a file', holds('written.txt') ? undefined : last(0)],
    ['runs a command', holds('copied.txt') ? undefined : last(1)],
    ['answers', said.includes(answer) ? undefined : `it said: ${said.slice(0, 500) || 'nothing'}`],
  ];
  if (mode === 'ask')
    list.push([`asks before it acts (${asked} times)`, asked > 0 ? undefined : 'it did not']);
  if (profile.instructions !== undefined)
    list.push([
      `reads ${profile.instructions}`,
      exchanges.some(({ asked }) => asked.told.includes(instruction)) ? undefined : 'the model was not told',
    ]);
  return list;
}

/** True where every step went well. Nothing that it started is alive afterwards; the folder is left to the caller. */
export async function tryAgent(options: TrialOptions): Promise<boolean> {
  const { profile, found, sandbox, mode, folder, signal, onStep } = options;
  const workspace = join(folder, 'workspace');
  const home = join(folder, 'home');
  mkdirSync(workspace);
  mkdirSync(home);
  if (profile.instructions !== undefined) {
    const file = join(home, profile.instructions);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${instruction}\n`);
  }
  const { readable } = found;
  const cell = { name: 'parley-trial', workspace, home, readable, resourceFactor: 1, image: null };
  const inside = sandbox.inside(cell);
  const scripted = createScriptedModel([
    { write: { path: `${inside.workspace}/written.txt`, text: written } },
    { run: `cp ${inside.workspace}/written.txt ${inside.workspace}/copied.txt` },
    { say: answer },
  ]);
  const bridge = createBridge({ handlers: { model: scripted.handle } });
  const open = await openCell({ sandbox, cell, bridge });
  try {
    return await drive(open);
  } finally {
    await open.close();
    await bridge.close();
  }

  async function step<Result>(name: string, work: Promise<Result>, boundMs: number): Promise<Result> {
    const since = performance.now();
    const bound = within(boundMs, signal);
    let fault: string | undefined;
    try {
      return await Promise.race([work, bound.late]);
    } catch (error) {
      fault = explain(error, bridge.token);
      throw error;
    } finally {
      bound.clear();
      onStep({ name, ms: performance.now() - since, fault });
    }
  }

  async function drive({ enter, bridge: way }: OpenCell): Promise<boolean> {
    let said = '';
    let asked = 0;
    const { origin = '', token = '' } = way ?? {};
    const launch = launchOf(profile, found, { model, token, origin, home: inside.home, mode });
    const { auth } = found.program;
    const modeId = modeIdOf(found, mode);
    let agent: Agent;
    try {
      const program = await enter(launch);
      const opening = openAgent({
        program,
        cwd: inside.workspace,
        initializeMs,
        onUpdate: (update) => {
          said += textOf(update);
        },
        onPermission: async (request) => {
          asked += 1;
          return allow(request);
        },
        ...(auth === undefined ? {} : { authMethod: auth }),
      });
      agent = await step('starts', opening, initializeMs);
      const session = agent.openSession({ mcpServers: [], ...(modeId === undefined ? {} : { modeId }) });
      await step('opens a session', session, initializeMs);
      const turn = agent.prompt([{ type: 'text', text: 'Follow the script.' }]);
      await step('ends its turn', turn, turnMs);
    } catch {
      return false;
    }
    const list = outcomes({ workspace, scripted, said, asked, mode, profile });
    for (const [name, fault] of list) onStep({ name, ms: undefined, fault });
    return list.every(([, fault]) => fault === undefined);
  }
}
