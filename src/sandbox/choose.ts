// Chooses the sandbox for runs from the operator's configuration and what the machine supports, and decides who may run
// without one.
import type { SandboxChoice } from '../config.ts';
import { createDocker } from './docker.ts';
import { type KubernetesOptions, probeCluster } from './kubernetes/probeCluster.ts';
import { type Probed, probeBubblewrap, probeDocker } from './probe.ts';
import { processEngine } from './processEngine.ts';
import type { SandboxEngine, SandboxKind } from './sandbox.ts';

export interface ChooseOptions {
  readonly choice: SandboxChoice;
  /** The default container image. */
  readonly image: string;
  /** The runtime of containers; undefined for the engine's default. */
  readonly runtime: string | undefined;
  /** Folders that no agent may see: the data folder. */
  readonly hidden: readonly string[];
  /** A folder for the trial. */
  readonly trialFolder: string;
  /** Whether programs in bubblewrap run under the seccomp filter. */
  readonly seccomp: boolean;
  /** How pods are created, if the choice is kubernetes. */
  readonly kubernetes?: KubernetesOptions | undefined;
  /** Whether the service can only be reached from this machine. */
  readonly onLoopback: () => boolean;
  /** Called for each run, because users are created while the service runs. */
  readonly hasOneUser: () => Promise<boolean>;
}

/** The sandbox of a run, and its conditions. */
export interface Chosen {
  readonly engine: SandboxEngine;
  /** Only the built-in agent may run. */
  readonly builtInOnly: boolean;
  /** Every command and write needs approval, whatever the settings say. */
  readonly confirmAlways: boolean;
}

/** The message of the stop reason `no_sandbox`. */
export type Choice = Chosen | { readonly refusal: string };

export interface SandboxPlan {
  /** Undefined if there is none. */
  readonly kind: SandboxKind | undefined;
  /** Whether this service's seccomp filter applies in it. */
  readonly seccomp: boolean;
  /** Says in the log at startup and in /server_info what agents run in. */
  readonly announcement: string;
  /** Decides for one run. Rejects if `hasOneUser` does. */
  choose(): Promise<Choice>;
}

const noBoundary =
  'no sandbox: agents run as processes of this machine and can do whatever the service can do';

/** The same sandbox for everybody. */
function planFor(engine: SandboxEngine, options: ChooseOptions): SandboxPlan {
  const { kind } = engine;
  const filterNote = options.seccomp
    ? ' with a seccomp filter'
    : ' without a seccomp filter, as PARLEY_SECCOMP=off asks for';
  const runtimeNote = options.runtime === undefined ? '' : ` with the runtime ${options.runtime}`;
  return {
    kind,
    seccomp: options.seccomp && kind === 'bubblewrap',
    // Container engines have a seccomp filter of their own.
    announcement: `Agents run in ${kind}${kind === 'bubblewrap' ? filterNote : runtimeNote}.`,
    choose: async () => ({ engine, builtInOnly: false, confirmAlways: false }),
  };
}

/** A cluster that does not answer now may answer later, so it is tried again for each run until it does. */
async function planForKubernetes(kubernetes: KubernetesOptions): Promise<SandboxPlan> {
  const first = await probeCluster(kubernetes);
  let found = 'engine' in first ? first.engine : undefined;
  const { runtimeClass } = kubernetes;
  const runtimeNote = runtimeClass === undefined ? '' : ` with the runtime class ${runtimeClass}`;
  return {
    kind: 'kubernetes',
    seccomp: false,
    announcement:
      'fault' in first
        ? `Agents cannot run yet: ${first.fault}.`
        : `Agents run in Kubernetes pods${runtimeNote}.${first.note}`,
    choose: async () => {
      const probed = found === undefined ? await probeCluster(kubernetes) : { engine: found };
      if ('fault' in probed) return { refusal: `There is no sandbox to run it in: ${probed.fault}.` };
      found = probed.engine;
      return { engine: found, builtInOnly: false, confirmAlways: false };
    },
  };
}

function planForNone(sentence: string): SandboxPlan {
  return {
    kind: undefined,
    seccomp: false,
    announcement: `Agents cannot run: ${sentence}.`,
    choose: async () => ({ refusal: `There is no sandbox to run it in: ${sentence}.` }),
  };
}

/** The operator wants no sandbox, which is allowed for a single user only. */
function planForProcess({ hasOneUser }: ChooseOptions): SandboxPlan {
  return {
    kind: 'process',
    seccomp: false,
    announcement: `Agents have ${noBoundary}, as PARLEY_SANDBOX=process asks for.`,
    choose: async () =>
      (await hasOneUser())
        ? { engine: processEngine, builtInOnly: false, confirmAlways: false }
        : {
            refusal:
              'PARLEY_SANDBOX=process is no boundary between users, and there is more than one: it needs bubblewrap, docker or kubernetes.',
          },
  };
}

/** No sandbox works. A single user on their own machine may continue, with restrictions. */
function planForLastResort(faults: string, { hasOneUser, onLoopback }: ChooseOptions): SandboxPlan {
  const advice = `${faults}; install bubblewrap`;
  if (!onLoopback()) return planForNone(advice);
  return {
    kind: 'process',
    seccomp: false,
    announcement: `Agents have ${noBoundary}, for ${faults}. Only the built-in agent runs, and asks before each command and write.`,
    choose: async () =>
      (await hasOneUser())
        ? { engine: processEngine, builtInOnly: true, confirmAlways: true }
        : { refusal: `There is no sandbox to run it in: ${advice}.` },
  };
}

/** Tries the engines that the choice allows, in order, once. */
export async function planSandbox(options: ChooseOptions): Promise<SandboxPlan> {
  const { choice, image, runtime, hidden, trialFolder: folder, seccomp } = options;
  if (choice === 'process') return planForProcess(options);
  if (choice === 'kubernetes')
    return options.kubernetes === undefined
      ? planForNone('this command cannot use kubernetes')
      : planForKubernetes(options.kubernetes);
  const probes: readonly [SandboxKind, () => Promise<Probed>][] = [
    ['bubblewrap', () => probeBubblewrap({ hidden, folder, seccomp })],
    [
      'docker',
      () =>
        probeDocker({
          create: (command) => createDocker({ command, image, runtime, hidden }),
          image,
          folder,
        }),
    ],
  ];
  const faults: string[] = [];
  for (const [kind, probe] of probes) {
    if (choice !== 'auto' && choice !== kind) continue;
    const probed = await probe();
    if ('engine' in probed) return planFor(probed.engine, options);
    faults.push(probed.fault);
  }
  const why = faults.join(', and ');
  return choice === 'auto' ? planForLastResort(why, options) : planForNone(why);
}
