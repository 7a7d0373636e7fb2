// The objects of agent-sandbox (sigs.k8s.io/agent-sandbox), as far as Parley uses them. Its controller creates the pod of
// a Sandbox, keeps Sandboxes warm in a SandboxWarmPool, and gives them to SandboxClaims.
import type { Api } from './api.ts';
import { isNotFound } from './objects.ts';
import { describeReason, type ObjectMeta, type StatusReason } from './podStatus.ts';

export const sandboxGroup = 'agents.x-k8s.io';
export const extensionsGroup = 'extensions.agents.x-k8s.io';
const version = 'v1beta1';

export const sandboxVersion = `${sandboxGroup}/${version}`;
export const extensionsVersion = `${extensionsGroup}/${version}`;

/** The name of the pod of a Sandbox, which is not always that of the Sandbox. Written when the pod exists. */
export const podNameAnnotation = `${sandboxGroup}/pod-name`;

interface Condition extends StatusReason {
  readonly type: string;
  readonly status: string;
}

export interface Sandbox {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly operatingMode?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface SandboxClaim {
  readonly metadata: ObjectMeta;
  readonly status?: {
    readonly sandbox?: { readonly name?: string };
    readonly conditions?: readonly Condition[];
  };
}

export interface SandboxWarmPool {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly sandboxTemplateRef?: { readonly name?: string } };
}

export interface SandboxTemplate {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly podTemplate?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
      readonly spec?: object;
    };
  };
}

export function folderOf(resource: 'sandboxes' | ExtensionResource, namespace: string): string {
  const group = resource === 'sandboxes' ? sandboxVersion : extensionsVersion;
  return `/apis/${group}/namespaces/${namespace}/${resource}`;
}

type ExtensionResource = 'sandboxclaims' | 'sandboxwarmpools' | 'sandboxtemplates';

/** Whether the cluster has this resource. */
export async function hasResource(api: Api, resource: 'sandboxes' | 'sandboxclaims'): Promise<boolean> {
  const path = `/apis/${resource === 'sandboxes' ? sandboxVersion : extensionsVersion}`;
  try {
    const { resources } = await api.call<{ resources?: readonly { name: string }[] }>({ path });
    return resources?.some(({ name }) => name === resource) === true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Whether the controller of the object is the one with this uid. */
export function isControlledBy({ ownerReferences = [] }: ObjectMeta, uid: string | undefined): boolean {
  return uid !== undefined && ownerReferences.some((owner) => owner.controller === true && owner.uid === uid);
}

const readyOf = (conditions: readonly Condition[] | undefined) =>
  conditions?.find(({ type }) => type === 'Ready');

/** What these reasons mean. Waiting does not help. */
const claimFaults: Readonly<Record<string, string>> = {
  WarmPoolNotFound: 'the pool does not exist',
  TemplateNotFound: 'the SandboxTemplate of the pool does not exist',
  InvalidMetadata: 'the controller refuses the metadata of the claim',
  EnvVarsInjectionRejected: 'the SandboxTemplate of the pool refuses the claim',
  VolumeClaimTemplatesError: 'the volumes of the SandboxTemplate cannot be used',
  SandboxExpired: 'its Sandbox has expired',
  ClaimExpired: 'the claim has expired',
};

/** Of a Sandbox. Its conversation must not get another one, which would have the same end. */
const endReasons: Readonly<Record<string, string>> = {
  SandboxExpired: 'its Sandbox has expired',
  SandboxSuspended: 'its Sandbox was suspended',
  ClaimExpired: 'its SandboxClaim has expired',
};

const sandboxFaults: Readonly<Record<string, string>> = {
  ...endReasons,
  MultiplePods: 'its Sandbox has several pods',
};

function explain(
  conditions: readonly Condition[] | undefined,
  meanings: Readonly<Record<string, string>>,
): string | undefined {
  const ready = readyOf(conditions);
  const meaning = ready?.status === 'False' ? meanings[ready.reason ?? ''] : undefined;
  return meaning && `${meaning} (${describeReason(ready ?? {})})`;
}

/** Why the claim gets no Sandbox, as a clause; undefined if it still may. */
export const faultOfClaim = ({ status }: SandboxClaim) => explain(status?.conditions, claimFaults);

/** Why the Sandbox gets no pod, as a clause; undefined if it still may. */
export const faultOfSandbox = ({ status }: Sandbox) => explain(status?.conditions, sandboxFaults);

/** Why its pod was ended on purpose, as a clause; undefined if it was not. */
export function endOfSandbox({ spec, status }: Sandbox): string | undefined {
  // The controller reports it a moment later.
  if (spec?.operatingMode === 'Suspended') return endReasons['SandboxSuspended'];
  const ready = readyOf(status?.conditions);
  return ready?.status === 'False' ? endReasons[ready.reason ?? ''] : undefined;
}

/** Whether its controller could not do its work, and will try again. */
export function isDoubtful({ status }: Sandbox | SandboxClaim): boolean {
  return readyOf(status?.conditions)?.reason === 'ReconcilerError';
}

/** What it is waiting for. */
export function waitsForController({ status }: Sandbox | SandboxClaim): string {
  const ready = readyOf(status?.conditions);
  return ready === undefined
    ? 'the controller of agent-sandbox has not answered; check that it runs'
    : describeReason(ready);
}
