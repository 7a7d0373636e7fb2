// Finds out whether pods can be used: whether the cluster answers, and whether this process has the permissions that it needs.
import type { SandboxEngine } from '../sandbox.ts';
import { type Api, createApi } from './api.ts';
import { findCluster } from './cluster.ts';
import { createPodEngine } from './podEngine.ts';
import type { VolumeOptions } from './volumes.ts';

export interface KubernetesOptions {
  /** Empty if PARLEY_KUBERNETES_IMAGE is not set. */
  readonly image: string;
  /** Undefined for that of the service account. */
  readonly namespace: string | undefined;
  readonly runtimeClass: string | undefined;
  /** Identifies this process. */
  readonly processId: string;
  /** The limit on the size of workspace and home together. */
  readonly filesBytesMax: number;
  /** Undefined if the files of a conversation go with its pod. */
  readonly volumes?: VolumeOptions | undefined;
  readonly onBackgroundError: (error: Error) => void;
}

const namespaceDefault = 'parley';

type Permission = readonly [verb: string, resource: string, subresource?: string];

/** A WebSocket is opened with GET; newer versions of Kubernetes require the permission to create as well. */
const permissions: readonly Permission[] = [
  ['create', 'pods'],
  ['get', 'pods'],
  ['list', 'pods'],
  ['watch', 'pods'],
  ['delete', 'pods'],
  ['get', 'pods', 'attach'],
];

const volumePermissions = ['create', 'get', 'list', 'delete'].map(
  (verb): Permission => [verb, 'persistentvolumeclaims'],
);

async function findMissingPermission(
  api: Api,
  namespace: string,
  needed: readonly Permission[],
): Promise<string | undefined> {
  for (const [verb, resource, subresource] of needed) {
    const resourceAttributes = { namespace, verb, resource, ...(subresource && { subresource }) };
    const review = await api.call<{ status?: { allowed?: boolean } }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes },
      },
    });
    if (review.status?.allowed !== true)
      return `this process may not ${verb} ${[resource, subresource].filter(Boolean).join('/')} in the namespace ${namespace}; give it the Role in deploy/chart/templates/rbac.yaml`;
  }
  return undefined;
}

/** The fault is a clause without a full stop. */
export async function probeCluster(
  options: KubernetesOptions,
): Promise<{ readonly engine: SandboxEngine } | { readonly fault: string }> {
  const { image, ...rest } = options;
  if (image === '')
    return {
      fault:
        'kubernetes has no image; set PARLEY_KUBERNETES_IMAGE to one that deploy/kubernetes/Dockerfile builds',
    };
  try {
    const cluster = await findCluster();
    const namespace = options.namespace ?? cluster.namespace ?? namespaceDefault;
    const api = createApi(cluster);
    const needed = [...permissions, ...(options.volumes === undefined ? [] : volumePermissions)];
    const missing = await findMissingPermission(api, namespace, needed);
    if (missing !== undefined) return { fault: `kubernetes cannot be used: ${missing}` };
    return { engine: createPodEngine({ ...rest, volumes: options.volumes, image, api, namespace }) };
  } catch (error) {
    return { fault: `kubernetes cannot be used: ${(error as Error).message}` };
  }
}
