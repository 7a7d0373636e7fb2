// Drives an agent against a scripted model, from its start to its answer, and tells what it could do.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openAgent } from '../acp/agent.ts';
import { AgentError } from '../acp/errors.ts';
import type { PermissionRequest } from '../acp/questions.ts';
import type { SessionUpdate } from '../acp/update.ts';
import { createBridge } from '../bridge/bridge.ts';
import { type Entered, openCell } from '../sandbox/openCell.ts';
import type { Cell, Sandbox } from '../sandbox/sandbox.ts';
import type { Found } from './find.ts';
import { type AskMode, launchOf, sessionOf } from './launch.ts';
import type { Profile } from './profiles.ts';
import { createScriptedModel } from './scriptedModel/server.ts';
import { trialInstruction, trialOutcomes, trialScript } from './trialOutcomes.ts';
import { plantRepository } from './trialRepository.ts';

const startMs = 60_000;
const turnMs = 180_000;

export interface TrialStep {
  readonly name: string;
  readonly ms?: number;
  /** Why it failed, for people. */
  readonly fault: string | undefined;
}

interface TrialOptions {
  readonly profile: Profile;
  readonly found: Found;
  readonly sandbox: Sandbox;
  readonly mode: AskMode;
  /** The name under which the agent knows the scripted model. */
  readonly model: string;
  /** An empty folder, for workspace and home. It is left to the caller. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Called as each step is done. */
  onStep(step: TrialStep): void;
}

function explain(error: unknown, token: string): string {
  const details = error instanceof AgentError && error.details !== '' ? `\n${error.details}` : '';
  return `${(error as Error).message}${details}`.replaceAll(token, '[token]');
}

/** Rejects when the time is up or the signal is given. */
async function within<Result>(ms: number, signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`It took longer than ${ms / 1_000} s.`)), ms);
  const abort = () => late.reject(new Error('It was interrupted.'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

function prepareCell({ profile: { instructions }, found, folder }: TrialOptions): Cell {
  const workspace = join(folder, 'workspace');
  const home = join(folder, 'home');
  mkdirSync(workspace);
  mkdirSync(home);
  if (instructions !== undefined) {
    const file = join(home, instructions);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${trialInstruction}\n`);
  }
  const { readable } = found;
  return { name: `parley-trial-${process.pid}`, workspace, home, readable, resourceFactor: 1, image: null };
}

function textOf({ sessionUpdate, content }: SessionUpdate): string {
  const { text } = (content ?? {}) as { text?: unknown };
  return sessionUpdate === 'agent_message_chunk' && typeof text === 'string' ? text : '';
}

function allow({ options }: PermissionRequest): { optionId: string } | 'cancelled' {
  const option = options.find(({ kind }) => kind === 'allow_once');
  return option === undefined ? 'cancelled' : { optionId: option.optionId };
}

type Timed = <Result>(name: string, boundMs: number, work: Promise<Result>) => Promise<Result>;

/** One turn, with everything allowed. Rejects where the agent does not come to its end. */
async function driveTurn(program: Entered, cwd: string, { found, mode }: TrialOptions, timed: Timed) {
  let said = '';
  let questions = 0;
  const { auth } = found.program;
  const opening = openAgent({
    program,
    cwd,
    initializeMs: startMs,
    onUpdate: (update) => {
      said += textOf(update);
    },
    onPermission: async (request) => {
      questions += 1;
      return allow(request);
    },
    ...(auth === undefined ? {} : { authMethod: auth }),
  });
  const agent = await timed('starts', startMs, opening);
  const session = agent.openSession({ mcpServers: [], ...sessionOf(found, mode) });
  await timed('opens a session', startMs, session);
  await timed('ends its turn', turnMs, agent.prompt([{ type: 'text', text: 'Follow the script.' }]));
  return { said, questions };
}

/** True where every step went well. Nothing that it started is alive afterwards. */
export async function tryAgent(options: TrialOptions): Promise<boolean> {
  const { profile, found, sandbox, mode, model, signal, onStep } = options;
  const cell = prepareCell(options);
  const { workspace, home } = sandbox.inside(cell);
  if (mode === 'ask') plantRepository(cell.workspace, workspace);
  const { handle, exchanges } = createScriptedModel(trialScript(workspace), { name: model });
  const bridge = createBridge({ handlers: { model: handle } });
  const open = await openCell({ sandbox, cell, bridge });

  let failed = false;
  const timed: Timed = async (name, boundMs, work) => {
    const since = performance.now();
    let fault: string | undefined;
    try {
      return await within(boundMs, signal, work);
    } catch (error) {
      failed = true;
      fault = explain(error, bridge.token);
      throw error;
    } finally {
      onStep({ name, ms: performance.now() - since, fault });
    }
  };

  try {
    const origin = open.bridge?.origin ?? '';
    const values = { model, token: bridge.token, origin, home, mode };
    const program = await open.enter(launchOf(profile, found, values));
    const turn = await driveTurn(program, workspace, options, timed);
    const { instructions } = profile;
    const { workspace: outside } = cell;
    const outcomes = trialOutcomes({ ...turn, model, workspace: outside, exchanges, mode, instructions });
    for (const outcome of outcomes) onStep(outcome);
    return outcomes.every(({ fault }) => fault === undefined);
  } catch (error) {
    if (!failed) throw error;
    return false;
  } finally {
    await open.close();
    await bridge.close();
  }
}
