// Pods of a SandboxWarmPool, which were created in advance. A SandboxClaim takes one of them; if none is left, the
// controller creates one for it.
import {
  extensionsVersion,
  faultOfClaim,
  folderOf,
  isDoubtful,
  podNameAnnotation,
  type Sandbox,
  type SandboxClaim,
  waitsForController,
} from './agentSandbox.ts';
import { ClusterError } from './api.ts';
import { createObjects } from './objects.ts';
import { findDifference } from './podCheck.ts';
import type { PodSource } from './podSource.ts';
import { conversationLabels, labelOf, managedBy, processLabel, warmPodSpec } from './podSpec.ts';
import { beginStart, findEnd, type PodStart, untilPodRuns } from './podStart.ts';
import type { AgentSandboxOptions } from './sandboxSource.ts';

export interface ClaimOptions extends AgentSandboxOptions {
  readonly warmPool: string;
}

/** The pool has no pod that could be used, and will have none soon. */
export class WarmPoolError extends ClusterError {}

/** If the supervisor of a pod has ended and no worker is left to notice, the controller deletes the claim. */
const finishedSecondsMax = 600;
/** A Sandbox that is created for a claim has its name, which must not be that of another Sandbox. */
const suffix = '-claim';
const claimOf = (name: string) => `${name}${suffix}`;

export function createClaims(options: ClaimOptions): PodSource {
  const { api, namespace, pods, warmPool, processId, onBackgroundError } = options;
  const claims = createObjects<SandboxClaim>(api, folderOf('sandboxclaims', namespace));
  const sandboxes = createObjects<Sandbox>(api, folderOf('sandboxes', namespace));
  const wanted = warmPodSpec(options);

  /** The name of the Sandbox that the claim has got. */
  function untilGiven(name: string, start: PodStart): Promise<string> {
    return claims.until(
      name,
      (claim) => {
        const fault = claim === undefined ? 'its SandboxClaim was deleted' : faultOfClaim(claim);
        if (claim === undefined || fault !== undefined)
          throw new WarmPoolError(`the warm pool ${warmPool} provides no pod: ${fault}`);
        start.note(waitsForController(claim), isDoubtful(claim));
        return claim.status?.sandbox?.name || undefined;
      },
      start.signal,
    );
  }

  async function findPod({ status }: SandboxClaim): Promise<string | undefined> {
    const { name } = status?.sandbox ?? {};
    return name && (await sandboxes.find(name))?.metadata.annotations?.[podNameAnnotation];
  }

  /** The claim first: its controller creates a pod again that is deleted alone. The Sandbox goes with the claim. */
  async function remove(name: string, podName: string | undefined): Promise<void> {
    await claims.remove(name);
    if (podName !== undefined) await pods.remove(podName);
  }

  return {
    acquire: async (sandboxName, spec) => {
      const name = claimOf(sandboxName);
      const start = beginStart();
      let podName: string | undefined;
      try {
        const labels = { ...managedBy, [processLabel]: labelOf(processId), ...conversationLabels(spec) };
        // Labels for the pod are left out: the controller accepts only those of domains that it was configured with.
        const { metadata } = await claims.create({
          apiVersion: extensionsVersion,
          kind: 'SandboxClaim',
          metadata: { name, labels },
          spec: {
            warmPoolRef: { name: warmPool },
            lifecycle: { ttlSecondsAfterFinished: finishedSecondsMax, shutdownPolicy: 'Delete' },
          },
        });
        const given = await untilGiven(name, start);
        const pod = await untilPodRuns({ sandboxes, pods, name: given, owner: metadata.uid, start });
        podName = pod.metadata.name;
        const difference = findDifference(wanted, pod);
        if (difference !== undefined)
          throw new WarmPoolError(
            `the pods of the warm pool ${warmPool} are not as Parley creates them: ${difference}`,
          );
        return {
          podName,
          uid: pod.metadata.uid,
          remove: () => remove(name, pod.metadata.name),
          findEnd: () => findEnd(sandboxes, given),
        };
      } catch (error) {
        await remove(name, podName).catch(onBackgroundError);
        throw start.explain(error);
      } finally {
        start.end();
      }
    },
    list: async (labels) => {
      const found = await claims.list(labels);
      return found.map((claim) => {
        const { name } = claim.metadata;
        return {
          name: name.endsWith(suffix) ? name.slice(0, -suffix.length) : name,
          metadata: claim.metadata,
          remove: async () => remove(name, await findPod(claim)),
          findPod: () => findPod(claim),
        };
      });
    },
  };
}
