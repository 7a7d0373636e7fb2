// Tests an agent with a scripted model, from its start to its answer, and reports what worked.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createBridge } from '../../bridge/bridge.ts';
import { openSandbox, type SandboxProcess } from '../../sandbox/openSandbox.ts';
import type { SandboxEngine, SandboxSpec } from '../../sandbox/sandbox.ts';
import { openAgent } from '../acp/agent.ts';
import type { PermissionAnswer, PermissionRequest } from '../acp/approvalRequests.ts';
import { AgentError } from '../acp/errors.ts';
import { createEventMapper } from '../acp/events.ts';
import type { SessionUpdate } from '../acp/update.ts';
import type { FoundAgent } from '../find.ts';
import { type ApprovalMode, type HomeFile, homeFilesOf, launchOf, sessionOf } from '../launch.ts';
import type { Profile } from '../profileSchema.ts';
import { approvalOutcomes, type SeenRequest } from './approvalOutcomes.ts';
import { readTrialFile, rejectedFile, seenEffects, writtenText } from './files.ts';
import { type Outcome, rejectedScript, trialInstruction, trialOutcomes, trialScript } from './outcomes.ts';
import { plantRepository } from './repository.ts';
import type { Step } from './scriptedModel/script.ts';
import { createScriptedModel, type Exchange } from './scriptedModel/server.ts';

const startMs = 60_000;
const turnMs = 180_000;

export interface TrialStep extends Outcome {
  readonly ms?: number;
}

/** `unjudged` means that the trial has no result. It does not count as a success. */
export type TrialVerdict = 'good' | 'bad' | 'unjudged';

interface TrialOptions {
  readonly profile: Profile;
  readonly found: FoundAgent;
  readonly engine: SandboxEngine;
  readonly mode: ApprovalMode;
  /** The name under which the agent knows the scripted model. */
  readonly model: string;
  /** An empty folder for workspace and home. The caller removes it. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Called after each step. */
  onStep(step: TrialStep): void;
}

function explain(error: unknown, token: string): string {
  const details = error instanceof AgentError && error.details !== '' ? `\n${error.details}` : '';
  return `${(error as Error).message}${details}`.replaceAll(token, '[token]');
}

/** Rejects after a timeout or when the signal is aborted. */
async function withTimeout<Result>(ms: number, signal: AbortSignal, work: Promise<Result>): Promise<Result> {
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

/** No agent has used the home yet, so it contains no links. */
function writeHomeFiles(home: string, files: readonly HomeFile[]): void {
  for (const { path, text, isProgram = false } of files.filter(({ text }) => text !== '')) {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`, { mode: isProgram ? 0o700 : 0o600 });
  }
}

function prepareSpec({ found, folder }: TrialOptions): SandboxSpec {
  const workspace = join(folder, 'workspace');
  const home = join(folder, 'home');
  mkdirSync(workspace);
  mkdirSync(home);
  const { readable } = found;
  return { name: `parley-trial-${process.pid}`, workspace, home, readable, resourceFactor: 1, image: null };
}

function textOf({ sessionUpdate, content }: SessionUpdate): string {
  const { text } = (content ?? {}) as { text?: unknown };
  return sessionUpdate === 'agent_message_chunk' && typeof text === 'string' ? text : '';
}

function choose({ options }: PermissionRequest, wanted: 'allow_once' | 'reject_once'): PermissionAnswer {
  const option = options.find(({ kind }) => kind === wanted);
  return option === undefined ? 'cancelled' : { optionId: option.optionId };
}

type Timed = <Result>(name: string, boundMs: number, work: Promise<Result>) => Promise<Result>;

interface Turn {
  readonly program: SandboxProcess;
  readonly cwd: string;
  readonly timed: Timed;
  /** Called with each approval request, and with the reason if it cannot be shown in full. */
  onPermission(request: PermissionRequest, fault: string | undefined): PermissionAnswer;
}

/** Runs one turn and returns what the agent said. Rejects if the agent does not finish it. */
async function driveTurn(turn: Turn, { found, mode }: TrialOptions): Promise<string> {
  const { program, cwd, timed, onPermission } = turn;
  let said = '';
  const mapper = createEventMapper();
  const { auth } = found.program;
  const opening = openAgent({
    program,
    cwd,
    initializeMs: startMs,
    onUpdate: (update) => {
      said += textOf(update);
      mapper.take(update);
    },
    onPermission: async (request) => {
      const approval = mapper.approval(request.toolCall);
      return onPermission(request, 'fault' in approval ? approval.fault : undefined);
    },
    ...(auth === undefined ? {} : { authMethod: auth }),
  });
  const agent = await timed('starts', startMs, opening);
  const session = agent.openSession({ mcpServers: [], ...sessionOf(found, mode) });
  await timed('opens a session', startMs, session);
  await timed('ends its turn', turnMs, agent.prompt([{ type: 'text', text: 'Follow the script.' }]));
  return said;
}

/** The script step that the model is at, read from the id of its last tool call. */
function stepOf(exchanges: readonly Exchange[]): number {
  const calls = exchanges.flatMap(({ answer }) => answer.call?.id ?? []);
  return Number(calls.at(-1)?.replace('call_', '') ?? -1);
}

interface Outcomes {
  /** The checks that it works. */
  readonly working: readonly Outcome[];
  /** The checks that it asks for approval; empty in the mode `auto`. */
  readonly approving: readonly Outcome[];
}

/** Acting without approval outweighs everything else, and a check that could not be made is never a success. */
function verdictOf({ working, approving }: Outcomes): TrialVerdict {
  if (approving.some(({ fault }) => fault !== undefined)) return 'bad';
  if (approving.some(({ unjudged }) => unjudged !== undefined)) return 'unjudged';
  return working.some(({ fault }) => fault !== undefined) ? 'bad' : 'good';
}

interface TrialStage {
  readonly options: TrialOptions;
  readonly spec: SandboxSpec;
  /** The path of the workspace inside the sandbox. */
  readonly inside: string;
  enter(): Promise<SandboxProcess>;
  /** Makes the model follow this script from now on. */
  play(script: readonly Step[]): readonly Exchange[];
  readonly timed: Timed;
}

/** Runs a turn in which everything is rejected. Only its effects matter, not how it ends. */
async function tryRejecting({ options, spec, inside, enter, play }: TrialStage) {
  play(rejectedScript(inside));
  let wasAsked = false;
  const onPermission = (request: PermissionRequest) => {
    wasAsked = true;
    return choose(request, 'reject_once');
  };
  const timed: Timed = (_, ms, work) => withTimeout(ms, options.signal, work);
  const program = await enter();
  await driveTurn({ program, cwd: inside, timed, onPermission }, options).catch(() => '');
  await program.kill();
  return { wasAsked, acted: readTrialFile(spec.workspace, rejectedFile) !== undefined };
}

async function tryTurns(stage: TrialStage): Promise<Outcomes> {
  const { options, spec, inside, enter, play, timed } = stage;
  const { workspace } = spec;
  const { mode, model, profile } = options;
  const exchanges = play(trialScript(inside, mode));
  const requests: SeenRequest[] = [];
  const onPermission = (request: PermissionRequest, fault: string | undefined) => {
    requests.push({ step: stepOf(exchanges), done: seenEffects(workspace), fault });
    return choose(request, 'allow_once');
  };
  const program = await enter();
  const said = await driveTurn({ program, cwd: inside, timed, onPermission }, options);
  await program.kill();
  const { instructions } = profile;
  const working = trialOutcomes({ model, workspace, exchanges, said, instructions });
  if (mode === 'auto') return { working, approving: [] };
  const results = exchanges.at(-1)?.request.results ?? [];
  const rejected = await tryRejecting(stage);
  return { working, approving: approvalOutcomes({ workspace, requests, results, rejected }) };
}

/** Tries the agent and ends every process that it started. */
export async function tryAgent(options: TrialOptions): Promise<TrialVerdict> {
  const { profile, found, engine, mode, model, signal, onStep } = options;
  const spec = prepareSpec(options);
  const { workspace: inside, home } = engine.paths(spec);
  if (mode === 'ask') {
    plantRepository(spec.workspace, inside, profile);
    writeFileSync(join(spec.workspace, 'seed.txt'), writtenText);
  }
  let scripted = createScriptedModel([], { name: model });
  const bridge = createBridge({ handlers: { model: (...request) => scripted.handle(...request) } });
  const open = await openSandbox({ engine, spec, bridge });

  let failed = false;
  const timed: Timed = async (name, boundMs, work) => {
    const since = performance.now();
    let fault: string | undefined;
    try {
      return await withTimeout(boundMs, signal, work);
    } catch (error) {
      failed = true;
      fault = explain(error, bridge.token);
      throw error;
    } finally {
      onStep({ name, ms: performance.now() - since, fault });
    }
  };
  const play = (script: readonly Step[]) => {
    scripted = createScriptedModel(script, { name: model });
    return scripted.exchanges;
  };
  const values = { model, token: bridge.token, origin: open.bridge?.origin ?? '', home, mode };
  const enter = () => open.start(launchOf(profile, found, values));
  const { instructions } = profile;
  writeHomeFiles(spec.home, [
    ...homeFilesOf(profile, found, values),
    ...(instructions === undefined ? [] : [{ path: instructions, text: trialInstruction }]),
  ]);

  try {
    const outcomes = await tryTurns({ options, spec, inside, enter, play, timed });
    for (const outcome of [...outcomes.working, ...outcomes.approving]) onStep(outcome);
    return verdictOf(outcomes);
  } catch (error) {
    if (!failed) throw error;
    return mode === 'ask' ? 'unjudged' : 'bad';
  } finally {
    await open.close();
    await bridge.close();
  }
}
