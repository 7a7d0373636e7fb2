// Creates, watches, finds and deletes pods.
import { setTimeout as wait } from 'node:timers/promises';
import { type Api, ClusterError } from './api.ts';
import { listObjects } from './list.ts';
import { isNotFound } from './objects.ts';
import type { podOf } from './podSpec.ts';
import {
  endOf,
  hasExceeded,
  hasPodEnded,
  isPodRunning,
  type Pod,
  startFault,
  waitsFor,
} from './podStatus.ts';

/** Less than the time within which a start must show progress. */
export const startMsMax = 100_000;
const goneMsMax = 30_000;
const explainMsMax = 3_000;
const watchAgainMs = 200;
/** Of one page. */
const graceSeconds = 1;

export interface Pods {
  /** Resolves when its container runs. Throws ClusterError with the reason; the pod is left then. */
  create(pod: ReturnType<typeof podOf>, signal?: AbortSignal): Promise<Pod>;
  /** Resolves when the container of a pod that somebody else creates runs. Throws ClusterError with the reason. */
  untilRunning(name: string, msMax: number): Promise<Pod>;
  /** Does not wait until it is gone. It may be gone already. */
  remove(name: string): Promise<void>;
  /** Rejects if it is not gone in time. */
  untilGone(name: string): Promise<void>;
  /** The pods of Parley with these labels. */
  list(labels: Readonly<Record<string, string>>): Promise<readonly Pod[]>;
  /** Whether it is known that a pod has ended, or will soon. Another pod of its name has another uid. Never rejects. */
  hasEnded(name: string, uid: string | undefined): Promise<boolean>;
  /** Why a pod has ended, as far as it is known. Never rejects. */
  explain(name: string, uid: string | undefined): Promise<PodEnd>;
}

export interface PodEnd {
  readonly why: string;
  /** Whether it exceeded a limit on memory or storage. */
  readonly hasExceeded: boolean;
  /** Whether it has not ended at all, as far as it is known. */
  readonly isAlive: boolean;
}

const isSame = ({ metadata }: Pod, uid: string | undefined) => uid === undefined || metadata.uid === uid;
const deleted: PodEnd = { why: 'it was deleted', hasExceeded: false, isAlive: false };

export function createPods(api: Api, namespace: string): Pods {
  const folder = `/api/v1/namespaces/${namespace}/pods`;
  const pathOf = (name: string) => `${folder}/${name}`;
  const find = (name: string) => api.call<Pod>({ path: pathOf(name) });

  /** The pod when it runs, or what it waited for when the watch ended. */
  async function watchStart(created: Pod, signal: AbortSignal): Promise<Pod | string> {
    const { name, resourceVersion = '' } = created.metadata;
    const query = { fieldSelector: `metadata.name=${name}`, resourceVersion };
    let last = waitsFor(created);
    for await (const { object: pod } of api.watch<{ object: Pod }>({ path: folder, query, signal })) {
      if (pod.status === undefined || pod.metadata?.name !== name) break;
      if (isPodRunning(pod)) return pod;
      const fault = startFault(pod);
      if (fault !== undefined) throw new ClusterError(`the pod does not start: ${fault}`);
      last = waitsFor(pod);
    }
    return last;
  }

  async function untilRunning(created: Pod, signal?: AbortSignal, msMax = startMsMax): Promise<Pod> {
    const late = AbortSignal.timeout(msMax);
    const over = signal === undefined ? late : AbortSignal.any([late, signal]);
    let pod = created;
    while (!isPodRunning(pod)) {
      const fault = startFault(pod);
      if (fault !== undefined) throw new ClusterError(`the pod does not start: ${fault}`);
      let last = waitsFor(pod);
      try {
        const waited = await watchStart(pod, over);
        if (typeof waited !== 'string') return waited;
        last = waited;
        await wait(watchAgainMs, undefined, { signal: over });
      } catch (error) {
        if (!over.aborted) throw error;
        if (!late.aborted) throw new ClusterError('the start was canceled');
        // The watch may have ended before it saw the last state.
        last = waitsFor(await find(created.metadata.name).catch(() => pod));
        throw new ClusterError(`the pod did not start within ${startMsMax / 1_000} s: ${last}`);
      }
      pod = await find(created.metadata.name);
    }
    return pod;
  }

  /** The kubelet reports the end of a container a moment after its streams have closed. */
  async function untilExplained(name: string): Promise<Pod> {
    const over = performance.now() + explainMsMax;
    for (;;) {
      const pod = await find(name);
      const isKnown = hasPodEnded(pod) || pod.metadata.deletionTimestamp !== undefined;
      if (isKnown || performance.now() > over) return pod;
      await wait(watchAgainMs);
    }
  }

  async function remove(name: string): Promise<void> {
    const body = { gracePeriodSeconds: graceSeconds, propagationPolicy: 'Background' };
    await api.call({ method: 'DELETE', path: pathOf(name), body }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  return {
    create: async (pod, signal) => {
      const body = pod;
      return untilRunning(await api.call<Pod>({ method: 'POST', path: folder, body, signal }), signal);
    },
    untilRunning: async (name, msMax) => untilRunning(await find(name), undefined, msMax),
    remove,
    untilGone: async (name) => {
      const over = performance.now() + goneMsMax;
      for (;;) {
        const found = await find(name).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        if (found === undefined) return;
        if (performance.now() > over)
          throw new ClusterError(
            `an earlier pod of this conversation (${name}) is not deleted in time; check its node`,
          );
        await wait(watchAgainMs);
      }
    },
    list: (labels) => listObjects<Pod>(api, folder, labels),
    hasEnded: async (name, uid) => {
      const signal = AbortSignal.timeout(explainMsMax);
      return api
        .call<Pod>({ path: pathOf(name), signal })
        .then(
          (pod) => hasPodEnded(pod) || pod.metadata.deletionTimestamp !== undefined || !isSame(pod, uid),
          isNotFound,
        );
    },
    explain: async (name, uid) => {
      try {
        const pod = await untilExplained(name);
        if (!isSame(pod, uid)) return deleted;
        const isAlive = isPodRunning(pod) && pod.metadata.deletionTimestamp === undefined;
        return { why: endOf(pod), hasExceeded: hasExceeded(pod), isAlive };
      } catch (error) {
        return isNotFound(error)
          ? deleted
          : { why: (error as Error).message, hasExceeded: false, isAlive: false };
      }
    },
  };
}
