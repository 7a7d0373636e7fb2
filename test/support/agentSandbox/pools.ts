// What the controller of agent-sandbox does for a SandboxWarmPool: it keeps Sandboxes that nobody has claimed yet.
import {
  findCondition,
  hashOf,
  isControlledBy,
  isSame,
  keys,
  ownedBy,
  type Pool,
  type Sandbox,
  sandboxHeader,
  type Template,
  type World,
} from './shapes.ts';

/** A Sandbox that is not ready by then is replaced. */
const readyWithinMs = 5 * 60_000;

const isReady = ({ status }: Sandbox) => findCondition(status?.conditions, 'Ready')?.status === 'True';

/** Where pods have a public network, they get no name servers of the cluster. */
const publicDns = { dnsPolicy: 'None', dnsConfig: { nameservers: ['8.8.8.8', '1.1.1.1'] } };

/** What a template says, with a token of a service account only if it asks for one. */
export function blueprintOf({ spec }: Template) {
  const { podTemplate, volumeClaimTemplates, service, networkPolicy, networkPolicyManagement } = spec;
  const isPublic = networkPolicyManagement !== 'Unmanaged' && networkPolicy === undefined;
  const defaults = { automountServiceAccountToken: false, ...(isPublic && publicDns) };
  return {
    podTemplate: { ...podTemplate, spec: { ...defaults, ...podTemplate.spec } },
    ...(volumeClaimTemplates && { volumeClaimTemplates }),
    ...(service !== undefined && { service }),
  };
}

export async function reconcilePool(world: World, pool: Pool): Promise<void> {
  const { api, paths, now } = world;
  const { name, generation } = pool.metadata;
  const { replicas, sandboxTemplateRef } = pool.spec;
  const template = world.templates.find(({ metadata }) => metadata.name === sandboxTemplateRef.name);
  const owned = world.sandboxes.filter((sandbox) => isControlledBy(sandbox, pool));
  const isStuck = (sandbox: Sandbox) =>
    !isReady(sandbox) && now.getTime() - Date.parse(sandbox.metadata.creationTimestamp ?? '') > readyWithinMs;
  const kept = owned.filter((sandbox) => !isStuck(sandbox));
  // Those that are not ready go first.
  const surplus = [...kept].sort((a, b) => Number(isReady(a)) - Number(isReady(b)));
  const removed = [...owned.filter(isStuck), ...surplus.slice(0, Math.max(0, kept.length - replicas))];
  for (const { metadata } of removed) await api.remove(`${paths.sandboxes}/${metadata.name}`);
  if (template !== undefined)
    for (let missing = replicas - kept.length; missing > 0; missing--)
      await api.create(paths.sandboxes, {
        ...sandboxHeader,
        metadata: {
          generateName: `${name}-`,
          labels: {
            [keys.warmPool]: hashOf(name),
            [keys.templateRefHash]: hashOf(template.metadata.name),
            [keys.templateHash]: hashOf(JSON.stringify(template.spec)),
            [keys.launchType]: 'warm',
            [keys.createdBy]: 'controller',
          },
          ownerReferences: [ownedBy(pool)],
        },
        spec: blueprintOf(template),
      });
  const status = {
    replicas: kept.length,
    readyReplicas: kept.filter(isReady).length,
    selector: `${keys.warmPool}=${hashOf(name)}`,
    observedGeneration: generation,
  };
  if (!isSame(pool.status ?? {}, status)) await api.patch(`${paths.pools}/${name}/status`, { status });
}

/** Templates get a label with which their Sandboxes are found. */
export async function reconcileTemplate({ api, paths }: World, { metadata }: Template): Promise<void> {
  const label = hashOf(metadata.name);
  if (metadata.labels?.[keys.templateRefHash] !== label)
    await api.patch(`${paths.templates}/${metadata.name}`, {
      metadata: { labels: { [keys.templateRefHash]: label } },
    });
}
