// Describes the status of a pod in a clause for an error message.

/** The metadata of any object. */
export interface ObjectMeta {
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
}

export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly { readonly state?: ContainerState }[];
  };
}

interface ContainerState {
  readonly waiting?: StatusReason;
  readonly running?: object;
  readonly terminated?: StatusReason & { readonly exitCode?: number };
}

export interface StatusReason {
  readonly reason?: string;
  readonly message?: string;
}

const shownCharsMax = 300;

/** A container that waits for one of these reasons does not start. */
const lastingReasons: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/** What the kubelet says about the volume that podSpec.ts has for workspace and home. */
const filesPattern = /EmptyDir volume "files" exceeds the limit/;

export function describeReason({ reason, message }: StatusReason): string {
  const text = [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
  return text
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, shownCharsMax)
    .replace(/\.+$/, '');
}

const stateOf = ({ status }: Pod): ContainerState => status?.containerStatuses?.[0]?.state ?? {};

export function isPodRunning(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && stateOf(pod).running !== undefined;
}

export function hasPodEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Why the pod will not start; undefined if it still may. */
export function startFault(pod: Pod): string | undefined {
  const { waiting } = stateOf(pod);
  if (waiting?.reason !== undefined && lastingReasons.has(waiting.reason)) return describeReason(waiting);
  if (hasPodEnded(pod)) return endOf(pod);
  return pod.metadata.deletionTimestamp === undefined ? undefined : 'it is being deleted';
}

/** What the pod is waiting for. */
export function waitsFor(pod: Pod): string {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') return `it cannot be scheduled: ${describeReason(scheduled)}`;
  const { waiting } = stateOf(pod);
  return waiting === undefined ? 'its container has no status yet' : describeReason(waiting);
}

/** Whether the pod has ended because it exceeded a limit on memory or storage. */
export function hasExceeded(pod: Pod): boolean {
  if (stateOf(pod).terminated?.reason === 'OOMKilled') return true;
  // A node that is short of something itself evicts pods, too, and then names no limit.
  return pod.status?.reason === 'Evicted' && /limit/.test(pod.status.message ?? '');
}

/** Why the pod has ended, as far as it is known. */
export function endOf(pod: Pod): string {
  const { status, metadata } = pod;
  const { terminated } = stateOf(pod);
  if (status?.reason === 'Evicted' && filesPattern.test(status.message ?? ''))
    return 'its workspace and home folder exceed PARLEY_WORKSPACE_MB (Evicted)';
  if (status?.reason !== undefined) return describeReason(status);
  if (terminated?.reason === 'OOMKilled') return 'it exceeded its memory limit (OOMKilled)';
  if (terminated !== undefined) return `its supervisor ended with code ${terminated.exitCode}`;
  return metadata.deletionTimestamp === undefined ? 'it does not answer' : 'it was deleted';
}
