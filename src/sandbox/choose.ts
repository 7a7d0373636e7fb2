// Which sandbox runs have, by what the operator said and what the machine can do; and who may have none.
import type { SandboxChoice } from '../config.ts';
import { createDocker } from './docker.ts';
import { type Probed, probeBubblewrap, probeDocker } from './probe.ts';
import { processEngine } from './processEngine.ts';
import type { SandboxEngine, SandboxKind } from './sandbox.ts';

export interface ChooseOptions {
  readonly choice: SandboxChoice;
  /** Of containers, for conversations that name none. */
  readonly image: string;
  /** Folders that no agent may see: that of the data. */
  readonly hidden: readonly string[];
  /** A folder in which a process can be tried. */
  readonly trialFolder: string;
  /** Whether programs in bubblewrap run under the seccomp filter. */
  readonly seccomp: boolean;
  /** Whether the service is reached from this machine alone. */
  readonly onLoopback: () => boolean;
  /** Asked at the time of use, for users are made while the service runs. */
  readonly hasOneUser: () => Promise<boolean>;
}

/** What a run has to do with the sandbox it is given. */
export interface Chosen {
  readonly engine: SandboxEngine;
  /** No agent but the built-in one may run. */
  readonly builtInOnly: boolean;
  /** Every command and write must be confirmed, whatever the settings say. */
  readonly confirmAlways: boolean;
}

/** The sentence goes into the stop reason `no_sandbox`. */
export type Choice = Chosen | { readonly refusal: string };

export interface SandboxPlan {
  /** Undefined: there is none. */
  readonly kind: SandboxKind | undefined;
  /** Whether this service's seccomp filter applies in it. */
  readonly seccomp: boolean;
  /** For the log at the start and /server_info: what agents run in. */
  readonly announcement: string;
  /** Decides for one run. Fails as `hasOneUser` fails. */
  choose(): Promise<Choice>;
}

const noBoundary =
  'no sandbox: agents run as processes of this machine and can do whatever the service can do';

/** One kind, for everybody. */
function planFor(engine: SandboxEngine, options: ChooseOptions): SandboxPlan {
  const { kind } = engine;
  const filterNote = options.seccomp
    ? ' with a seccomp filter'
    : ' without a seccomp filter, as PARLEY_SECCOMP=off asks for';
  return {
    kind,
    seccomp: options.seccomp && kind === 'bubblewrap',
    // Container engines have a seccomp filter of their own.
    announcement: `Agents run in ${kind}${kind === 'bubblewrap' ? filterNote : ''}.`,
    choose: async () => ({ engine, builtInOnly: false, confirmAlways: false }),
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

/** The operator wants no boundary. They may have it for themselves. */
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
              'PARLEY_SANDBOX=process is no boundary between users, and there is more than one: it needs bubblewrap or docker.',
          },
  };
}

/** Nothing else works: one person on their own machine may go on, with care. */
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

/** Tries what the choice allows, in order, once. */
export async function planSandbox(options: ChooseOptions): Promise<SandboxPlan> {
  const { choice, image, hidden, trialFolder: folder, seccomp } = options;
  if (choice === 'process') return planForProcess(options);
  const probes: readonly [SandboxKind, () => Promise<Probed>][] = [
    ['bubblewrap', () => probeBubblewrap({ hidden, folder, seccomp })],
    ['docker', () => probeDocker((command) => createDocker({ command, image, hidden }))],
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
