// The sandboxes and agents of one simulated machine. They take the place of `openRunEnvironment` and `startAgent`, which
// start real programs; everything above them is the code of the product.
import type { Profile } from '../../src/agents/profileSchema.ts';
import { findProfile } from '../../src/agents/profiles.ts';
import type { Clock } from '../../src/process/clock.ts';
import { currentRun } from '../../src/runs/currentRun.ts';
import { createLimits } from '../../src/runs/modelLimits.ts';
import type { AgentDependencies } from '../../src/runs/run.ts';
import { RunEnd } from '../../src/runs/runEnd.ts';
import type { RunEnvironment } from '../../src/runs/runEnvironment.ts';
import {
  type AgentProgram,
  type Home,
  type PromptTokens,
  startProgram,
  type TurnPlan,
} from './agentProgram.ts';
import type { Actor, World } from './world.ts';

/** How sandboxes and agents behave. Each is a probability. */
export interface AgentFaults {
  readonly openFails: number;
  readonly openHangs: number;
  /** It makes progress all the time and never finishes. */
  readonly openCrawls: number;
  readonly turnHangs: number;
  readonly agentDies: number;
  readonly turnRefused: number;
  readonly ignoresCancel: number;
  /** The home of the agent is gone. */
  readonly homeLost: number;
  /** Something of the run throws where nobody catches it. */
  readonly uncaught: number;
}

export const goodAgents: AgentFaults = {
  openFails: 0,
  openHangs: 0,
  openCrawls: 0,
  turnHangs: 0,
  agentDies: 0,
  turnRefused: 0,
  ignoresCancel: 0,
  homeLost: 0,
  uncaught: 0,
};

/** A machine with its disk. Processes on it come and go. */
export interface Machine {
  readonly name: string;
  readonly homes: Map<string, Home>;
  /** The programs that are alive, by workspace. */
  readonly programs: Map<string, RunningProgram>;
}

interface RunningProgram {
  readonly runId: string;
  readonly program: AgentProgram;
}

export interface OwnerCheck {
  /** Called right before something happens that only the owner of the conversation may do. */
  checkOwner(run: { readonly key: number; readonly runId: string }, what: string): void;
  /** Called when an agent has read a prompt. */
  noteReceived(runId: string, tokens: PromptTokens): void;
}

interface AgentsOptions {
  readonly world: World;
  readonly machine: Machine;
  readonly process: Actor;
  readonly clock: Clock;
  readonly profiles: readonly Profile[];
  readonly owners: OwnerCheck;
  readonly faults: () => AgentFaults;
}

const crawlMs = 2_000;

type Replaced = Required<Pick<AgentDependencies, 'openEnvironment' | 'startAgent'>>;

export function createAgents(given: AgentsOptions): Replaced & { killAll(): void } {
  const { world, machine, process, clock, profiles, owners, faults } = given;
  const random = world.random.fork(`${process.name} agents`);
  const open = new Map<RunEnvironment, { start: Replaced['startAgent'] }>();
  const mine = new Set<AgentProgram>();

  async function wait(ms: number, signal: AbortSignal): Promise<void> {
    await clock.pause(ms, signal);
    if (signal.aborted) throw new Error('the sandbox is closed');
  }

  function planTurn(): TurnPlan {
    const { turnHangs, agentDies, turnRefused } = faults();
    if (random.chance(turnHangs)) return 'hang';
    if (random.chance(agentDies)) return 'die';
    return random.chance(turnRefused) ? 'refuse' : 'work';
  }

  const openEnvironment: Replaced['openEnvironment'] = async (_, context) => {
    const { runId, conversation, inputs, recorder, signal, isHeld } = context;
    const { key, id } = conversation;
    const { openFails, openHangs, openCrawls, homeLost, uncaught } = faults();
    const run = currentRun();
    // As the handler of uncaught errors in `app.ts` does.
    if (random.chance(uncaught)) clock.after(random.between(0, 12_000), () => void run?.crash());
    const profile = findProfile(profiles, conversation.agent ?? inputs.settings.agent);
    if (profile === undefined) throw new RunEnd('agent_missing', 'There is no such agent.');
    const place = `${key}/${id}`;
    if (random.chance(homeLost)) machine.homes.delete(place);
    const hangs = random.chance(openHangs);
    const crawls = !hangs && random.chance(openCrawls);
    await wait(random.chance(0.2) ? random.between(1_500, 7_000) : random.between(10, 1_500), signal);
    // Other processes of the same workspace are ended first, and only by the owner: see `endExclusive`.
    if (!isHeld()) throw new Error('the sandbox is closed');
    const before = machine.programs.get(place);
    owners.checkOwner({ key, runId }, before === undefined ? 'clones' : `ends the agent of ${before.runId}`);
    before?.program.kill();
    if (random.chance(openFails)) throw new RunEnd('workspace_error', 'The workspace could not be prepared.');
    if (hangs) await wait(1e9, signal);
    while (crawls) {
      await recorder.step({ runtimeStatus: 'STATUS$SETTING_UP_WORKSPACE: slowly' });
      await wait(crawlMs, signal);
    }
    let program: AgentProgram | undefined;
    let isClosed = false;
    const close = async () => {
      isClosed = true;
      if (program === undefined) return;
      const ended = program;
      if (ended.actor.isAlive) await clock.pause(random.between(0, 300));
      ended.kill();
      mine.delete(ended);
      if (machine.programs.get(place)?.program === ended) machine.programs.delete(place);
    };
    const environment: RunEnvironment = {
      sandbox: {
        paths: { workspace: '/workspace', home: '/home/agent' },
        bridge: undefined,
        start: async () => Promise.reject(new Error('the simulation runs no commands')),
        pids: () => [],
        close,
      },
      agent: { profile, found: { program: profile.programs[0] } as RunEnvironment['agent']['found'] },
      hasOwnTools: false,
      confirmAlways: false,
      variables: {},
      beginTurn: async () => {},
      endTurn: () => {},
      metrics: () => undefined,
      limits: createLimits(),
      full: new Promise(() => {}),
      close,
    };
    const home = machine.homes.get(place) ?? { sessions: new Map() };
    machine.homes.set(place, home);
    const start: Replaced['startAgent'] = async ({ onUpdate, onPermission }) => {
      await wait(random.between(5, 200), signal);
      if (isClosed || !isHeld()) throw new Error('the sandbox is closed');
      owners.checkOwner({ key, runId }, 'starts its agent');
      const started = startProgram({
        world,
        random,
        reader: process,
        runId,
        home,
        recordsTurns: profile.id === 'builtin',
        planTurn,
        obeys: () => !random.chance(faults().ignoresCancel),
        onUpdate,
        onPermission,
        onReceived: (tokens) => owners.noteReceived(runId, tokens),
      });
      program = started;
      mine.add(started);
      machine.programs.set(place, { runId, program: started });
      return started.agent;
    };
    open.set(environment, { start });
    return environment;
  };

  return {
    openEnvironment,
    startAgent: (start) => {
      const found = open.get(start.environment);
      if (found === undefined) throw new Error('the environment is not open');
      return found.start(start);
    },
    /** Agents die with the process that started them. */
    killAll: () => {
      for (const program of mine) program.actor.isAlive = false;
      for (const [place, { program }] of machine.programs)
        if (mine.has(program)) machine.programs.delete(place);
      mine.clear();
    },
  };
}
