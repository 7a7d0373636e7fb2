// What the objects of agent-sandbox look like, their paths, labels and conditions.
import type { KubernetesApi, KubernetesObject, ObjectMeta, OwnerReference } from '../kubernetesApi.ts';

export interface PodMetadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PodTemplate {
  readonly metadata?: PodMetadata;
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly containers: readonly { ports?: readonly { containerPort: number; name?: string }[] }[];
  readonly volumes?: readonly { name: string }[];
  readonly [field: string]: unknown;
}

export interface ClaimTemplate {
  readonly metadata?: { readonly name?: string };
  readonly spec: object;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export interface SandboxSpec {
  readonly podTemplate: PodTemplate;
  readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  readonly service?: boolean;
  readonly operatingMode?: 'Running' | 'Suspended';
  readonly shutdownTime?: string;
  readonly shutdownPolicy?: 'Delete' | 'Retain';
}

export interface SandboxStatus {
  readonly podIPs?: readonly string[] | null;
  readonly nodeName?: string | null;
  readonly selector?: string | null;
  readonly service?: string | null;
  readonly serviceFQDN?: string | null;
  readonly conditions?: readonly Condition[];
}

export interface ClaimSpec {
  readonly warmPoolRef: { readonly name: string };
  readonly lifecycle?: {
    readonly shutdownTime?: string;
    readonly ttlSecondsAfterFinished?: number;
    readonly shutdownPolicy?: 'Delete' | 'DeleteForeground' | 'Retain';
  };
  readonly additionalPodMetadata?: PodMetadata;
  readonly env?: readonly { name: string; value: string }[];
  readonly volumeClaimTemplates?: readonly ClaimTemplate[];
}

export interface ClaimStatus {
  readonly sandbox?: { readonly name?: string; readonly podIPs?: readonly string[] };
  readonly conditions?: readonly Condition[];
}

export interface TemplateSpec {
  readonly podTemplate: PodTemplate;
  readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  readonly service?: boolean;
  readonly networkPolicy?: object;
  readonly networkPolicyManagement?: 'Managed' | 'Unmanaged';
  readonly envVarsInjectionPolicy?: 'Allowed' | 'Overrides' | 'Disallowed';
  readonly volumeClaimTemplatesPolicy?: 'Allowed' | 'Overrides' | 'Disallowed';
}

export interface PoolSpec {
  readonly replicas: number;
  readonly sandboxTemplateRef: { readonly name: string };
}

interface PodStatus {
  readonly phase?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { ip: string }[];
  readonly conditions?: readonly Condition[];
}

export type Pod = KubernetesObject<PodStatus, PodSpec & { nodeName?: string }>;
export type Sandbox = KubernetesObject<SandboxStatus, SandboxSpec> & { spec: SandboxSpec };
export type Claim = KubernetesObject<ClaimStatus, ClaimSpec> & { spec: ClaimSpec };
export type Template = KubernetesObject<unknown, TemplateSpec> & { spec: TemplateSpec };
export type Pool = KubernetesObject<unknown, PoolSpec> & { spec: PoolSpec };

/** Everything in the namespace, as one pass of the controller sees it. */
export interface World {
  readonly api: KubernetesApi;
  readonly paths: Readonly<Record<Resource, string>>;
  readonly sandboxes: readonly Sandbox[];
  readonly claims: readonly Claim[];
  readonly templates: readonly Template[];
  readonly pools: readonly Pool[];
  readonly pods: readonly Pod[];
  readonly now: Date;
}

const sandboxGroup = 'agents.x-k8s.io/v1beta1';
const extensionsGroup = 'extensions.agents.x-k8s.io/v1beta1';

export function pathsOf(namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`;
  const extensions = `/apis/${extensionsGroup}/namespaces/${namespace}`;
  return {
    pods: `${core}/pods`,
    services: `${core}/services`,
    volumeClaims: `${core}/persistentvolumeclaims`,
    sandboxes: `/apis/${sandboxGroup}/namespaces/${namespace}/sandboxes`,
    claims: `${extensions}/sandboxclaims`,
    templates: `${extensions}/sandboxtemplates`,
    pools: `${extensions}/sandboxwarmpools`,
  };
}

export type Resource = keyof ReturnType<typeof pathsOf>;
export const sandboxHeader = { apiVersion: sandboxGroup, kind: 'Sandbox' };

const prefix = 'agents.x-k8s.io/';
const reservedPrefixes = [prefix, 'extensions.agents.x-k8s.io/'];
export const isReserved = (key: string) => reservedPrefixes.some((reserved) => key.startsWith(reserved));

/** Labels and annotations. */
export const keys = {
  nameHash: `${prefix}sandbox-name-hash`,
  templateRefHash: `${prefix}sandbox-template-ref-hash`,
  templateHash: `${prefix}sandbox-template-hash`,
  podTemplateHash: `${prefix}sandbox-pod-template-hash`,
  templateRef: `${prefix}sandbox-template-ref`,
  warmPool: `${prefix}warm-pool-sandbox`,
  podName: `${prefix}pod-name`,
  sandboxName: `${prefix}sandbox-name`,
  claimUid: `${prefix}claim-uid`,
  launchType: `${prefix}launch-type`,
  createdBy: `${prefix}created-by`,
  adoptable: `${prefix}adoptable`,
  propagatedLabels: `${prefix}propagated-labels`,
  propagatedAnnotations: `${prefix}propagated-annotations`,
};

/** FNV-1a with 32 bits, as eight hexadecimal digits. */
export function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

export function ownedBy({ apiVersion, kind, metadata }: KubernetesObject<unknown, unknown>): OwnerReference {
  const { name, uid = '' } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function controllerOf({ ownerReferences = [] }: ObjectMeta): OwnerReference | undefined {
  return ownerReferences.find(({ controller }) => controller === true);
}

export function isControlledBy(child: { metadata: ObjectMeta }, owner: { metadata: ObjectMeta }): boolean {
  return controllerOf(child.metadata)?.uid === owner.metadata.uid;
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string) {
  return conditions?.find((one) => one.type === type);
}

/** With the time at which each of them last changed, which is now for new ones. */
export function withTimes(
  conditions: readonly Condition[],
  before: readonly Condition[] | undefined,
  { now, generation }: { now: Date; generation: number | undefined },
): Condition[] {
  return conditions.map((one) => {
    const old = findCondition(before, one.type);
    const lastTransitionTime =
      old?.status === one.status && old.lastTransitionTime !== undefined
        ? old.lastTransitionTime
        : now.toISOString().replace(/\.\d+Z$/, 'Z');
    return {
      message: '',
      ...one,
      ...(generation !== undefined && { observedGeneration: generation }),
      lastTransitionTime,
    };
  });
}

/** Whether two values are the same as JSON, whatever the order of their fields. */
export function isSame(a: unknown, b: unknown): boolean {
  const sorted = (_: string, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([, field]) => field !== null)
            .sort(([x], [y]) => (x < y ? -1 : 1)),
        )
      : value;
  return JSON.stringify(a, sorted) === JSON.stringify(b, sorted);
}
