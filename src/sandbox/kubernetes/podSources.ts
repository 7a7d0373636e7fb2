// Chooses where a pod comes from: from the warm pool if there is one and the pod is an ordinary one, otherwise from a
// Sandbox or directly.
import { createClaims, WarmPoolError } from './claimSource.ts';
import { createPlainPods, type PodSource } from './podSource.ts';
import { isDefault } from './podSpec.ts';
import { type AgentSandboxOptions, createSandboxes } from './sandboxSource.ts';

/** For so long a pool is left alone that had no pod to use, so that it does not create one in vain for each run. */
const pauseMs = 60_000;

export interface PodSourcesOptions extends AgentSandboxOptions {
  /** Whether pods are created for Sandboxes of agent-sandbox. */
  readonly agentSandbox?: boolean;
  /** Undefined if no pods are created in advance. */
  readonly warmPool?: string | undefined;
}

async function listAll(
  sources: readonly PodSource[],
  labels: Readonly<Record<string, string>>,
): Promise<Awaited<ReturnType<PodSource['list']>>> {
  return (await Promise.all(sources.map((source) => source.list(labels)))).flat();
}

export function createPodSources(options: PodSourcesOptions): PodSource {
  const { agentSandbox = false, warmPool, onBackgroundError } = options;
  // Earlier processes may have created pods directly.
  const plain = createPlainPods(options);
  const own = agentSandbox ? createSandboxes(options) : plain;
  const pool = warmPool === undefined ? undefined : createClaims({ ...options, warmPool });
  const all = [...new Set([plain, own, ...(pool === undefined ? [] : [pool])])];
  let pausedUntil = 0;

  return {
    acquire: async (name, spec, claim) => {
      // A pod that runs already cannot get a volume.
      const fits = claim === undefined && isDefault(spec, options);
      if (pool === undefined || !fits || performance.now() < pausedUntil)
        return own.acquire(name, spec, claim);
      try {
        return await pool.acquire(name, spec);
      } catch (error) {
        if (!(error instanceof WarmPoolError)) throw error;
        pausedUntil = performance.now() + pauseMs;
        onBackgroundError(error);
        return own.acquire(name, spec);
      }
    },
    list: (labels) => listAll(all, labels),
  };
}
