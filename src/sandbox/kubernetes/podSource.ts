// Where the pods of sandboxes come from: they are created directly, or by a controller for an object that asks for one.
import type { SandboxSpec } from '../sandbox.ts';
import { type PodOptions, podOf } from './podSpec.ts';
import type { ObjectMeta } from './podStatus.ts';
import type { Pods } from './pods.ts';

/** Something that a source has created for a sandbox. */
export interface PodOwner {
  /** As `acquire` was told. */
  readonly name: string;
  readonly metadata: ObjectMeta;
  /** Deletes it with its pod. Does not wait until they are gone; they may be gone already. */
  remove(): Promise<void>;
  /** The name of its pod if that has no labels of the conversation. */
  findPod?(): Promise<string | undefined>;
}

export interface AcquiredPod {
  readonly podName: string;
  readonly uid: string | undefined;
  /** As that of its owner. */
  remove(): Promise<void>;
  /** Why an operator or the controller has ended the pod, as a clause; undefined if they have not. Never rejects. */
  findEnd?(): Promise<string | undefined>;
}

export interface PodSource {
  /**
   * Resolves when the container of the pod runs. The name is unique; the pod need not have it. `claim` is the
   * PersistentVolumeClaim with its files, if it has one. Throws ClusterError with the reason, and leaves nothing then.
   */
  acquire(name: string, spec: SandboxSpec, claim?: string): Promise<AcquiredPod>;
  /** What it has created with these labels, in any process. */
  list(labels: Readonly<Record<string, string>>): Promise<readonly PodOwner[]>;
}

export interface PodSourceOptions extends PodOptions {
  readonly pods: Pods;
  readonly onBackgroundError: (error: Error) => void;
}

/** Creates pods directly. */
export function createPlainPods(options: PodSourceOptions): PodSource {
  const { pods, onBackgroundError } = options;
  return {
    acquire: async (name, spec, claim) => {
      const remove = () => pods.remove(name);
      try {
        const { metadata } = await pods.create(podOf(name, spec, options, claim));
        return { podName: name, uid: metadata.uid, remove };
      } catch (error) {
        await remove().catch(onBackgroundError);
        throw error;
      }
    },
    list: async (labels) => {
      const found = await pods.list(labels);
      // The others go with their owner.
      const own = found.filter(({ metadata }) => metadata.ownerReferences === undefined);
      return own.map(({ metadata }) => ({
        name: metadata.name,
        metadata,
        remove: () => pods.remove(metadata.name),
      }));
    },
  };
}
