// What the controller of agent-sandbox does for a Sandbox: its volumes, its pod, its service and its status.
import { KubernetesError } from '../kubernetesApi.ts';
import {
  type Condition,
  controllerOf,
  findCondition,
  hashOf,
  isControlledBy,
  isReserved,
  isSame,
  keys,
  ownedBy,
  type Pod,
  type Sandbox,
  type SandboxStatus,
  type World,
  withTimes,
} from './shapes.ts';

const conflict = 409;

export const podNameOf = ({ metadata }: Sandbox) => metadata.annotations?.[keys.podName] ?? metadata.name;

/** What its pod is called with, from the template and from the controller. */
function podMetadata(sandbox: Sandbox) {
  const { labels = {}, annotations = {} } = sandbox.spec.podTemplate.metadata ?? {};
  const free = Object.fromEntries(Object.entries(labels).filter(([key]) => !isReserved(key)));
  const inherited = [keys.templateRefHash, keys.warmPool, keys.claimUid].flatMap((key) => {
    const value = sandbox.metadata.labels?.[key];
    return value === undefined ? [] : [[key, value]];
  });
  return {
    labels: {
      ...free,
      ...Object.fromEntries(inherited),
      [keys.nameHash]: hashOf(sandbox.metadata.name),
    } as Record<string, string>,
    annotations: {
      ...annotations,
      [keys.propagatedLabels]: Object.keys(free).sort().join(','),
      [keys.propagatedAnnotations]: Object.keys(annotations).sort().join(','),
    } as Record<string, string>,
  };
}

const volumeName = (template: { metadata?: { name?: string } }) => template.metadata?.name ?? 'data';

function podSpec({ metadata, spec }: Sandbox) {
  const claims = spec.volumeClaimTemplates ?? [];
  const names = new Set(claims.map(volumeName));
  const volumes = [
    ...(spec.podTemplate.spec.volumes ?? []).filter(({ name }) => !names.has(name)),
    ...claims.map((claim) => ({
      name: volumeName(claim),
      persistentVolumeClaim: { claimName: `${volumeName(claim)}-${metadata.name}` },
    })),
  ];
  return { ...spec.podTemplate.spec, ...(volumes.length > 0 && { volumes }) };
}

/** Claims of volumes go with the Sandbox, not with the pod. */
async function createVolumes({ api, paths }: World, sandbox: Sandbox): Promise<void> {
  for (const template of sandbox.spec.volumeClaimTemplates ?? []) {
    const name = `${volumeName(template)}-${sandbox.metadata.name}`;
    if ((await api.find(`${paths.volumeClaims}/${name}`)) !== undefined) continue;
    await api.create(paths.volumeClaims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name,
        labels: { [keys.nameHash]: hashOf(sandbox.metadata.name) },
        ownerReferences: [ownedBy(sandbox)],
      },
      spec: template.spec,
    });
  }
}

/** Returns the pod, or the reason why there is none. */
async function ensurePod({ api, paths, pods }: World, sandbox: Sandbox): Promise<Pod | string> {
  const path = `${paths.sandboxes}/${sandbox.metadata.name}`;
  const name = podNameOf(sandbox);
  const metadata = podMetadata(sandbox);
  const found = pods.find((pod) => pod.metadata.name === name);
  if (found === undefined) {
    const pod = await api.create<Pod['status'], Pod['spec']>(paths.pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata, ownerReferences: [ownedBy(sandbox)] },
      spec: podSpec(sandbox),
    });
    await api.patch(path, { metadata: { annotations: { [keys.podName]: name } } });
    return pod as Pod;
  }
  const podPath = `${paths.pods}/${name}`;
  if (controllerOf(found.metadata) === undefined) {
    const { labels = {} } = found.metadata;
    const mayAdopt =
      labels[keys.adoptable] === 'true' || labels[keys.nameHash] === hashOf(sandbox.metadata.name);
    if (!mayAdopt) return 'the pod belongs to nobody, and may not be adopted';
    return (await api.patch(podPath, {
      metadata: { ...metadata, ownerReferences: [ownedBy(sandbox)] },
    })) as Pod;
  }
  if (!isControlledBy(found, sandbox)) return 'the pod belongs to another';
  // Only its metadata follows the template.
  const { labels = {}, annotations = {} } = found.metadata;
  const removed = Object.fromEntries(
    [keys.warmPool].filter((key) => key in labels && !(key in metadata.labels)).map((key) => [key, null]),
  );
  const isCurrent =
    Object.keys(removed).length === 0 &&
    Object.entries(metadata.labels).every(([key, value]) => labels[key] === value) &&
    Object.entries(metadata.annotations).every(([key, value]) => annotations[key] === value);
  if (!isCurrent)
    await api.patch(podPath, {
      metadata: { labels: { ...metadata.labels, ...removed }, annotations: metadata.annotations },
    });
  return found;
}

async function ensureService({ api, paths }: World, sandbox: Sandbox): Promise<boolean> {
  const path = `${paths.services}/${sandbox.metadata.name}`;
  const exists = (await api.find(path)) !== undefined;
  if (sandbox.spec.service === false && exists) await api.remove(path);
  if (sandbox.spec.service !== true) return exists && sandbox.spec.service === undefined;
  if (exists) return true;
  const ports = sandbox.spec.podTemplate.spec.containers.flatMap((container) => container.ports ?? []);
  await api.create(paths.services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: sandbox.metadata.name, ownerReferences: [ownedBy(sandbox)] },
    spec: {
      clusterIP: 'None',
      selector: { [keys.nameHash]: hashOf(sandbox.metadata.name) },
      ports: ports.map(({ containerPort, name }) => ({
        name: name ?? `p${containerPort}`,
        port: containerPort,
      })),
    },
  });
  return true;
}

const ipsOf = ({ status }: Pod) =>
  status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP === undefined ? [] : [status.podIP]);

const ready = (status: 'True' | 'False', reason: string, message = ''): Condition => ({
  type: 'Ready',
  status,
  reason,
  message,
});

/** Of a Sandbox whose pod exists. */
function conditionsOf(pod: Pod): Condition[] {
  const { phase, conditions } = pod.status ?? {};
  const scheduled = findCondition(conditions, 'PodScheduled');
  const podScheduled: Condition = {
    type: 'PodScheduled',
    status: scheduled?.status ?? 'Unknown',
    reason: scheduled?.reason || (scheduled?.status === 'True' ? 'PodScheduled' : 'PodSchedulingUnknown'),
    message: scheduled?.message ?? '',
  };
  const common = [podScheduled, { type: 'Suspended', status: 'False', reason: 'NotSuspended' } as Condition];
  if (phase === 'Succeeded' || phase === 'Failed') {
    const reason = `Pod${phase}`;
    return [ready('False', reason), { type: 'Finished', status: 'True', reason }, ...common];
  }
  const isReady =
    phase === 'Running' &&
    findCondition(conditions, 'Ready')?.status === 'True' &&
    ipsOf(pod).length > 0 &&
    pod.metadata.deletionTimestamp === undefined;
  return [
    isReady
      ? ready('True', 'DependenciesReady')
      : ready('False', 'DependenciesNotReady', `the pod is ${phase ?? 'new'}`),
    ...common,
  ];
}

async function writeStatus(
  { api, paths, now }: World,
  sandbox: Sandbox,
  status: Omit<SandboxStatus, 'conditions'>,
  conditions: readonly Condition[],
): Promise<void> {
  const { name, generation } = sandbox.metadata;
  const next = {
    podIPs: null,
    nodeName: null,
    selector: null,
    service: null,
    serviceFQDN: null,
    ...status,
    conditions: withTimes(conditions, sandbox.status?.conditions, { now, generation }),
  };
  if (!isSame(sandbox.status ?? {}, next))
    await api.patch(`${paths.sandboxes}/${name}/status`, { status: next });
}

async function expire(world: World, sandbox: Sandbox, pod: Pod | undefined): Promise<void> {
  const { api, paths } = world;
  const { name } = sandbox.metadata;
  const finished = findCondition(sandbox.status?.conditions, 'Finished');
  await writeStatus(world, sandbox, {}, [
    ready('False', 'SandboxExpired'),
    ...(finished === undefined ? [] : [finished]),
  ]);
  if (pod !== undefined) await api.remove(`${paths.pods}/${pod.metadata.name}`);
  await api.remove(`${paths.services}/${name}`);
  if (sandbox.spec.shutdownPolicy === 'Delete') await api.remove(`${paths.sandboxes}/${name}`);
}

async function suspend(world: World, sandbox: Sandbox, pod: Pod | undefined, base: SandboxStatus) {
  const { api, paths } = world;
  const { name, annotations = {} } = sandbox.metadata;
  if (pod !== undefined && pod.metadata.deletionTimestamp === undefined)
    await api.remove(`${paths.pods}/${pod.metadata.name}`);
  if (pod === undefined && keys.podName in annotations)
    await api.patch(`${paths.sandboxes}/${name}`, { metadata: { annotations: { [keys.podName]: null } } });
  const suspended: Condition =
    pod === undefined
      ? { type: 'Suspended', status: 'True', reason: 'PodTerminated' }
      : { type: 'Suspended', status: 'False', reason: 'PodTerminating' };
  await writeStatus(world, sandbox, base, [ready('False', 'SandboxSuspended'), suspended]);
}

export async function reconcileSandbox(world: World, sandbox: Sandbox): Promise<void> {
  const { name, namespace } = sandbox.metadata;
  const owned = world.pods.filter((pod) => isControlledBy(pod, sandbox));
  const { shutdownTime, operatingMode } = sandbox.spec;
  if (shutdownTime !== undefined && new Date(shutdownTime) <= world.now)
    return expire(world, sandbox, owned[0]);
  await createVolumes(world, sandbox);
  const hasService = await ensureService(world, sandbox);
  const base: SandboxStatus = {
    selector: `${keys.nameHash}=${hashOf(name)}`,
    ...(hasService && { service: name, serviceFQDN: `${name}.${namespace}.svc.cluster.local` }),
  };
  if (operatingMode === 'Suspended') return suspend(world, sandbox, owned[0], base);
  if (owned.length > 1)
    return writeStatus(world, sandbox, base, [ready('False', 'MultiplePods', `${owned.length} pods`)]);
  let pod: Pod | string;
  try {
    pod = await ensurePod(world, sandbox);
  } catch (error) {
    // Somebody was faster; the next pass sees it.
    if (error instanceof KubernetesError && error.status === conflict) return;
    pod = (error as Error).message;
  }
  if (typeof pod === 'string')
    return writeStatus(world, sandbox, base, [ready('False', 'ReconcilerError', pod)]);
  const ips = ipsOf(pod);
  const { nodeName } = pod.spec ?? {};
  await writeStatus(
    world,
    sandbox,
    { ...base, ...(ips.length > 0 && { podIPs: ips }), ...(nodeName && { nodeName }) },
    conditionsOf(pod),
  );
}
