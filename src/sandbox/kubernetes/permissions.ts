// What this process may do in the cluster.
import type { Api } from './api.ts';

/** Resources are written as in RBAC: pods, sandboxes.agents.x-k8s.io. */
export type Permission = readonly [verb: string, resource: string, subresource?: string];

export const everyVerb = (verbs: readonly string[], resource: string): readonly Permission[] =>
  verbs.map((verb) => [verb, resource]);

async function isAllowed(api: Api, namespace: string, permission: Permission): Promise<boolean> {
  const [verb, name, subresource] = permission;
  const [resource = '', ...group] = name.split('.');
  const resourceAttributes = {
    namespace,
    verb,
    group: group.join('.'),
    resource,
    ...(subresource && { subresource }),
  };
  const review = await api.call<{ status?: { allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    },
  });
  return review.status?.allowed === true;
}

/** The first of them that this process does not have, as a clause. Throws ClusterError. */
export async function findMissingPermission(
  api: Api,
  namespace: string,
  needed: readonly Permission[],
): Promise<string | undefined> {
  const allowed = await Promise.all(needed.map((permission) => isAllowed(api, namespace, permission)));
  const missing = needed[allowed.indexOf(false)];
  if (missing === undefined) return undefined;
  const [verb, resource, subresource] = missing;
  return `this process may not ${verb} ${[resource, subresource].filter(Boolean).join('/')} in the namespace ${namespace}; give it the Role in deploy/chart/templates/rbac.yaml`;
}
