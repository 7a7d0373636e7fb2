// The start of a pod that a controller creates: how long it may take, and from a Sandbox to its running pod.
import {
  endOfSandbox,
  faultOfSandbox,
  isControlledBy,
  isDoubtful,
  podNameAnnotation,
  type Sandbox,
  waitsForController,
} from './agentSandbox.ts';
import { ClusterError } from './api.ts';
import type { Objects } from './objects.ts';
import type { Pod } from './podStatus.ts';
import { type Pods, startMsMax } from './pods.ts';

/** Controllers try again after an error, which may have been a conflict of no consequence. */
const doubtMsMax = 10_000;

export interface PodStart {
  readonly signal: AbortSignal;
  msLeft(): number;
  /** Keeps what is being waited for. If nothing else is, for some seconds, a doubtful state ends the start. */
  note(waitsFor: string, isDoubtful: boolean): void;
  /** The error to throw: if the time was over, one that says what was waited for. */
  explain(error: unknown): unknown;
  end(): void;
}

export function beginStart(msMax = startMsMax): PodStart {
  const over = new AbortController();
  const since = performance.now();
  const late = setTimeout(() => over.abort(), msMax);
  let doubt: NodeJS.Timeout | undefined;
  let waitsFor = '';
  let why = '';
  return {
    signal: over.signal,
    msLeft: () => Math.max(0, Math.round(msMax - (performance.now() - since))),
    note: (text, isInDoubt) => {
      waitsFor = text;
      if (!isInDoubt) {
        clearTimeout(doubt);
        doubt = undefined;
      } else
        doubt ??= setTimeout(() => {
          why = `the pod does not start: ${waitsFor}`;
          over.abort();
        }, doubtMsMax);
    },
    explain: (error) => {
      if (!over.signal.aborted) return error;
      return new ClusterError(why || `the pod did not start within ${msMax / 1_000} s: ${waitsFor}`);
    },
    end: () => {
      clearTimeout(late);
      clearTimeout(doubt);
    },
  };
}

interface SandboxPodOptions {
  readonly sandboxes: Objects<Sandbox>;
  readonly pods: Pods;
  /** The name of the Sandbox. */
  readonly name: string;
  /** The uid of what must own the Sandbox, if something must. */
  readonly owner?: string | undefined;
  readonly start: PodStart;
}

/** Resolves when the pod of a Sandbox runs. Throws ClusterError with the reason. */
export async function untilPodRuns(options: SandboxPodOptions): Promise<Pod> {
  const { sandboxes, pods, name, owner, start } = options;
  const { podName, uid } = await sandboxes.until(
    name,
    (sandbox) => {
      const fault = sandbox === undefined ? 'its Sandbox was deleted' : faultOfSandbox(sandbox);
      if (sandbox === undefined || fault !== undefined)
        throw new ClusterError(`the pod does not start: ${fault}`);
      const found = sandbox.metadata.annotations?.[podNameAnnotation];
      if (found !== undefined && (owner === undefined || isControlledBy(sandbox.metadata, owner)))
        return { podName: found, uid: sandbox.metadata.uid };
      start.note(waitsForController(sandbox), isDoubtful(sandbox));
      return undefined;
    },
    start.signal,
  );
  const pod = await pods.untilRunning(podName, start.msLeft());
  if (!isControlledBy(pod.metadata, uid))
    throw new ClusterError(`the pod ${podName} does not belong to the Sandbox ${name}`);
  return pod;
}

/** Why the pod of a Sandbox was ended on purpose, as a clause. */
export async function findEnd(sandboxes: Objects<Sandbox>, name: string): Promise<string | undefined> {
  const sandbox = await sandboxes.find(name).catch(() => undefined);
  return sandbox && endOfSandbox(sandbox);
}
