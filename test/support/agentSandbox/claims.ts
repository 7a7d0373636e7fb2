// What the controller of agent-sandbox does for a SandboxClaim: it takes a Sandbox of the warm pool, or creates one.
import { blueprintOf } from './pools.ts';
import {
  type Claim,
  type Condition,
  findCondition,
  hashOf,
  isControlledBy,
  isSame,
  keys,
  ownedBy,
  type PodSpec,
  type Sandbox,
  sandboxHeader,
  type Template,
  type World,
  withTimes,
} from './shapes.ts';

/** For how long a claim waits for a Sandbox of the pool that has no address yet. */
const adoptWithinMs = 2_000;

/** Ready is False for this reason. */
type Refusal = { readonly reason: string; readonly message: string };

function findSandbox({ sandboxes }: World, claim: Claim): Sandbox | undefined {
  const assigned = claim.metadata.annotations?.[keys.sandboxName];
  if (assigned !== undefined) return sandboxes.find(({ metadata }) => metadata.name === assigned);
  return sandboxes.find(
    (sandbox) => sandbox.metadata.name === claim.metadata.name && isControlledBy(sandbox, claim),
  );
}

function findTemplate({ pools, templates }: World, { spec }: Claim): Template | Refusal {
  const pool = pools.find(({ metadata }) => metadata.name === spec.warmPoolRef.name);
  if (pool === undefined) return { reason: 'WarmPoolNotFound', message: 'there is no such pool' };
  const { name } = pool.spec.sandboxTemplateRef;
  const template = templates.find(({ metadata }) => metadata.name === name);
  return template ?? { reason: 'TemplateNotFound', message: `there is no template ${name}` };
}

/** The only domain of labels that claims may add, unless the controller was started with others. */
const labelDomain = 'sandbox.users.io';

function findRefusal({ spec }: Claim, template: Template): Refusal | undefined {
  const foreign = Object.keys(spec.additionalPodMetadata?.labels ?? {}).find(
    (key) => !`.${key.split('/')[0]}`.endsWith(`.${labelDomain}`),
  );
  if (foreign !== undefined)
    return { reason: 'InvalidMetadata', message: `the domain of the label ${foreign} is not allowed` };
  const { envVarsInjectionPolicy = 'Disallowed', volumeClaimTemplatesPolicy = 'Disallowed' } = template.spec;
  if (spec.env?.length && envVarsInjectionPolicy === 'Disallowed')
    return { reason: 'EnvVarsInjectionRejected', message: 'the template allows no variables' };
  if (spec.volumeClaimTemplates?.length && volumeClaimTemplatesPolicy === 'Disallowed')
    return { reason: 'VolumeClaimTemplatesError', message: 'the template allows no volumes' };
  return undefined;
}

/** The metadata of the pod: that of the template, and what the claim adds. */
function claimedMetadata(claim: Claim, template: Template) {
  const { labels, annotations } = template.spec.podTemplate.metadata ?? {};
  const added = claim.spec.additionalPodMetadata ?? {};
  return {
    labels: { ...labels, ...added.labels, [keys.claimUid]: claim.metadata.uid ?? '' },
    annotations: { ...annotations, ...added.annotations },
  };
}

/** The annotation comes first: after a crash the claim still knows its Sandbox. */
async function adopt(
  { api, paths }: World,
  claim: Claim,
  sandbox: Sandbox,
  template: Template,
): Promise<void> {
  const { name, resourceVersion } = sandbox.metadata;
  await api.patch(`${paths.claims}/${claim.metadata.name}`, {
    metadata: { annotations: { [keys.sandboxName]: name } },
  });
  await api.patch(`${paths.sandboxes}/${name}`, {
    metadata: {
      resourceVersion,
      ownerReferences: [ownedBy(claim)],
      labels: {
        [keys.warmPool]: null,
        [keys.templateHash]: null,
        [keys.podTemplateHash]: null,
        [keys.claimUid]: claim.metadata.uid,
        [keys.launchType]: 'warm',
      },
      annotations: { [keys.podName]: name },
    },
    spec: { podTemplate: { metadata: claimedMetadata(claim, template) } },
  });
}

function withVariables(spec: PodSpec, env: Claim['spec']['env'] = []): PodSpec {
  const [first, ...others] = spec.containers as readonly { env?: readonly object[] }[];
  return { ...spec, containers: [{ ...first, env: [...(first?.env ?? []), ...env] }, ...others] as never };
}

async function createCold({ api, paths }: World, claim: Claim, template: Template): Promise<void> {
  const blueprint = blueprintOf(template);
  const volumes = [...(blueprint.volumeClaimTemplates ?? []), ...(claim.spec.volumeClaimTemplates ?? [])];
  await api.create(paths.sandboxes, {
    ...sandboxHeader,
    metadata: {
      name: claim.metadata.name,
      labels: {
        [keys.launchType]: 'cold',
        [keys.claimUid]: claim.metadata.uid,
        [keys.templateRefHash]: hashOf(template.metadata.name),
      },
      annotations: { [keys.templateRef]: template.metadata.name },
      ownerReferences: [ownedBy(claim)],
    },
    spec: {
      ...blueprint,
      podTemplate: {
        metadata: claimedMetadata(claim, template),
        spec: withVariables(blueprint.podTemplate.spec, claim.spec.env),
      },
      ...(volumes.length > 0 && { volumeClaimTemplates: volumes }),
    },
  });
}

/** Sandboxes of the pool that nobody has taken in this pass. */
function candidates(world: World, claim: Claim, taken: ReadonlySet<string>): Sandbox[] {
  const pool = world.pools.find(({ metadata }) => metadata.name === claim.spec.warmPoolRef.name);
  if (pool === undefined) return [];
  return world.sandboxes.filter(
    (sandbox) =>
      isControlledBy(sandbox, pool) &&
      sandbox.metadata.deletionTimestamp === undefined &&
      !taken.has(sandbox.metadata.name),
  );
}

/** Gives the claim a Sandbox, at once or in a later pass. Returns why it cannot get one. */
async function assign(world: World, claim: Claim, taken: Set<string>): Promise<Refusal> {
  const pending = { reason: 'SandboxCreatePending', message: 'the Sandbox is being created' };
  const template = findTemplate(world, claim);
  if ('reason' in template) return template;
  const refusal = findRefusal(claim, template);
  if (refusal !== undefined) return refusal;
  const isPlain = !claim.spec.env?.length && !claim.spec.volumeClaimTemplates?.length;
  const warm = isPlain ? candidates(world, claim, taken) : [];
  const found = warm.find(({ status }) => (status?.podIPs?.length ?? 0) > 0);
  if (found !== undefined) {
    taken.add(found.metadata.name);
    await adopt(world, claim, found, template);
    return pending;
  }
  const age = world.now.getTime() - Date.parse(claim.metadata.creationTimestamp ?? '');
  if (warm.length === 0 || age > adoptWithinMs) await createCold(world, claim, template);
  return pending;
}

/** When the claim expires; undefined if it does not. */
function expiryOf({ spec, status }: Claim): Date | undefined {
  const { shutdownTime, ttlSecondsAfterFinished: ttl } = spec.lifecycle ?? {};
  const finished = findCondition(status?.conditions, 'Finished')?.lastTransitionTime;
  const times = [
    ...(shutdownTime === undefined ? [] : [Date.parse(shutdownTime)]),
    ...(ttl === undefined || finished === undefined ? [] : [Date.parse(finished) + ttl * 1_000]),
  ];
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}

async function writeStatus(
  { api, paths, now }: World,
  claim: Claim,
  sandbox: Sandbox | undefined,
  conditions: readonly Condition[],
): Promise<void> {
  const { name, generation } = claim.metadata;
  const podIPs = sandbox?.status?.podIPs;
  const status = {
    sandbox: sandbox === undefined ? null : { name: sandbox.metadata.name, ...(podIPs && { podIPs }) },
    conditions: withTimes(conditions, claim.status?.conditions, { now, generation }),
  };
  if (!isSame(claim.status ?? {}, status)) await api.patch(`${paths.claims}/${name}/status`, { status });
}

async function expire(world: World, claim: Claim, sandbox: Sandbox | undefined): Promise<void> {
  const { api, paths } = world;
  const path = `${paths.claims}/${claim.metadata.name}`;
  const finished = findCondition(claim.status?.conditions, 'Finished');
  const expired: Condition = { type: 'Ready', status: 'False', reason: 'ClaimExpired' };
  await writeStatus(world, claim, undefined, [expired, ...(finished === undefined ? [] : [finished])]);
  const policy = claim.spec.lifecycle?.shutdownPolicy ?? 'Retain';
  if (policy === 'Delete') return api.remove(path, { propagationPolicy: 'Background' });
  if (policy === 'DeleteForeground') return api.remove(path, { propagationPolicy: 'Foreground' });
  if (sandbox !== undefined) await api.remove(`${paths.sandboxes}/${sandbox.metadata.name}`);
}

/** `taken` has the Sandboxes that other claims got in this pass. */
export async function reconcileClaim(world: World, claim: Claim, taken: Set<string>): Promise<void> {
  const sandbox = findSandbox(world, claim);
  const expiry = expiryOf(claim);
  if (expiry !== undefined && expiry <= world.now) return expire(world, claim, sandbox);
  const refuse = ({ reason, message }: Refusal) =>
    writeStatus(world, claim, sandbox, [{ type: 'Ready', status: 'False', reason, message }]);
  if (sandbox === undefined) {
    if (claim.status?.sandbox?.name !== undefined)
      return refuse({ reason: 'SandboxMissing', message: 'the Sandbox was deleted' });
    return refuse(await assign(world, claim, taken));
  }
  if (!isControlledBy(sandbox, claim)) {
    const template = findTemplate(world, claim);
    // The controller ended between the two steps of an adoption.
    if (!('reason' in template)) await adopt(world, claim, sandbox, template);
    return refuse({ reason: 'AdoptionConflict', message: 'the Sandbox is not owned yet' });
  }
  const conditions = sandbox.status?.conditions;
  const ready = findCondition(conditions, 'Ready');
  const finished = findCondition(conditions, 'Finished');
  await writeStatus(world, claim, sandbox, [
    ready ?? { type: 'Ready', status: 'False', reason: 'SandboxNotReady' },
    ...(finished === undefined ? [] : [finished]),
  ]);
}
