// Finds out whether pods can be used: whether the cluster answers, and whether this process has the permissions that it needs.
import type { AgentSandboxChoice } from '../../config.ts';
import type { SandboxEngine } from '../sandbox.ts';
import { createApi } from './api.ts';
import { findCluster } from './cluster.ts';
import { everyVerb, findMissingPermission, type Permission } from './permissions.ts';
import { createPodEngine } from './podEngine.ts';
import { type AgentSandboxUse, probeAgentSandbox } from './probeAgentSandbox.ts';
import type { VolumeOptions } from './volumes.ts';

export interface KubernetesOptions {
  /** Empty if PARLEY_KUBERNETES_IMAGE is not set. */
  readonly image: string;
  /** Undefined for that of the service account. */
  readonly namespace: string | undefined;
  readonly runtimeClass: string | undefined;
  /** Whether pods are created for Sandboxes of agent-sandbox; `auto` if the cluster has it. */
  readonly agentSandbox: AgentSandboxChoice;
  /** The SandboxWarmPool that pods are taken from. */
  readonly warmPool: string | undefined;
  /** Identifies this process. */
  readonly processId: string;
  /** The limit on the size of workspace and home together. */
  readonly filesBytesMax: number;
  /** Undefined if the files of a conversation go with its pod. */
  readonly volumes?: VolumeOptions | undefined;
  readonly onBackgroundError: (error: Error) => void;
}

const namespaceDefault = 'parley';

/** A WebSocket is opened with GET; newer versions of Kubernetes require the permission to create as well. */
const permissions: readonly Permission[] = [
  ...everyVerb(['get', 'list', 'watch', 'delete'], 'pods'),
  ['get', 'pods', 'attach'],
];
/** If pods are created directly. */
const plainPermissions: readonly Permission[] = [['create', 'pods'], ...permissions];

const volumePermissions = everyVerb(['create', 'get', 'list', 'delete'], 'persistentvolumeclaims');

/** What the start output adds, with a space before. */
function describe(
  { agentSandbox, warmPool }: Omit<AgentSandboxUse, 'note'>,
  note: string | undefined,
): string {
  const parts = [
    ...(agentSandbox ? ['A Sandbox of agent-sandbox is created for each.'] : []),
    ...(warmPool === undefined ? [] : [`Pods are taken from the warm pool ${warmPool}.`]),
    ...(note === undefined ? [] : [note]),
  ];
  return parts.map((part) => ` ${part}`).join('');
}

/** The fault is a clause without a full stop. The note consists of sentences, with a space before each. */
export async function probeCluster(
  options: KubernetesOptions,
): Promise<{ readonly engine: SandboxEngine; readonly note: string } | { readonly fault: string }> {
  const { image } = options;
  if (image === '')
    return {
      fault:
        'kubernetes has no image; set PARLEY_KUBERNETES_IMAGE to one that deploy/kubernetes/Dockerfile builds',
    };
  if (options.warmPool !== undefined && options.volumes !== undefined)
    return {
      fault:
        'PARLEY_KUBERNETES_WARM_POOL cannot be used with PARLEY_KUBERNETES_VOLUMES: a pod that runs already cannot get a volume',
    };
  try {
    const cluster = await findCluster();
    const namespace = options.namespace ?? cluster.namespace ?? namespaceDefault;
    const api = createApi(cluster);
    const { note, ...use } = await probeAgentSandbox(api, { ...options, namespace });
    const needed = [
      ...(use.agentSandbox ? permissions : plainPermissions),
      ...(options.volumes === undefined ? [] : volumePermissions),
    ];
    const missing = await findMissingPermission(api, namespace, needed);
    if (missing !== undefined) return { fault: `kubernetes cannot be used: ${missing}` };
    const { volumes } = options;
    const engine = createPodEngine({ ...options, ...use, volumes, api, namespace });
    return { engine, note: describe(use, note) };
  } catch (error) {
    return { fault: `kubernetes cannot be used: ${(error as Error).message}` };
  }
}
