// The controller of agent-sandbox for tests: it does what the real one does for Sandbox, SandboxClaim, SandboxTemplate and
// SandboxWarmPool in one namespace. Each pass looks at everything, so that a pass that failed is made good by the next one.
import { reconcileClaim } from './agentSandbox/claims.ts';
import { reconcilePool, reconcileTemplate } from './agentSandbox/pools.ts';
import { reconcileSandbox } from './agentSandbox/sandboxes.ts';
import {
  type Claim,
  type Pod,
  type Pool,
  pathsOf,
  type Resource,
  type Sandbox,
  type Template,
  type World,
} from './agentSandbox/shapes.ts';
import type { KubernetesApi, KubernetesObject } from './kubernetesApi.ts';

/** Deadlines are looked at this often, and whatever a failed pass has left. */
const everyMs = 500;
const watched: readonly Resource[] = ['sandboxes', 'claims', 'templates', 'pools', 'pods'];

export interface AgentSandboxController {
  /** Errors of passes, the latest last. Conflicts are normal. */
  readonly errors: readonly Error[];
  stop(): Promise<void>;
}

async function readWorld(api: KubernetesApi, paths: World['paths']): Promise<World> {
  const [sandboxes, claims, templates, pools, pods] = await Promise.all(
    watched.map((resource) => api.list(paths[resource])),
  );
  return {
    api,
    paths,
    sandboxes: sandboxes as Sandbox[],
    claims: claims as Claim[],
    templates: templates as Template[],
    pools: pools as Pool[],
    pods: pods as Pod[],
    now: new Date(),
  };
}

/** The resources must be installed. It needs all rights in the namespace. */
export function startAgentSandboxController(api: KubernetesApi, namespace: string): AgentSandboxController {
  const paths = pathsOf(namespace);
  const errors: Error[] = [];
  const stopping = new AbortController();
  let wake = () => {};

  /** One object that fails does not keep the others. What is being deleted is left alone. */
  async function each<One extends KubernetesObject<unknown, unknown>>(
    objects: readonly One[],
    reconcile: (one: One) => Promise<void>,
  ): Promise<void> {
    for (const one of objects)
      if (one.metadata.deletionTimestamp === undefined)
        await reconcile(one).catch((error: Error) => void errors.push(error));
  }

  async function pass(): Promise<void> {
    const world = await readWorld(api, paths);
    const taken = new Set<string>();
    await each(world.templates, (template) => reconcileTemplate(world, template));
    await each(world.claims, (claim) => reconcileClaim(world, claim, taken));
    const left = { ...world, sandboxes: world.sandboxes.filter(({ metadata }) => !taken.has(metadata.name)) };
    // A pool must not fill itself up for Sandboxes that were taken in this pass and still count as its own.
    if (taken.size === 0) await each(world.pools, (pool) => reconcilePool(world, pool));
    await each(left.sandboxes, (sandbox) => reconcileSandbox(world, sandbox));
  }

  async function follow(resource: Resource): Promise<void> {
    while (!stopping.signal.aborted) {
      await api.watch(paths[resource], () => wake(), stopping.signal).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, everyMs).unref();
      });
      await pass().catch((error: Error) => void errors.push(error));
      await changed;
    }
  }

  const looping = loop();
  for (const resource of watched) void follow(resource);
  return {
    errors,
    stop: async () => {
      stopping.abort();
      wake();
      await looping;
    },
  };
}
