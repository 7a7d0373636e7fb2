// The volumes of conversations: each has a PersistentVolumeClaim with its workspace and home, which outlives its pods.
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { SandboxConversation, SandboxVolumes } from '../sandbox.ts';
import { type Api, ClusterError } from './api.ts';
import { listObjects } from './list.ts';
import { keyLabel, labelOf, labelsOfConversation, managedBy } from './podSpec.ts';

export interface VolumeOptions {
  /** A quantity of Kubernetes, such as 10Gi. */
  readonly size: string;
  /** Undefined for the default of the cluster. */
  readonly storageClass: string | undefined;
  /** Names the service, because several may use one namespace by mistake. */
  readonly serviceId: () => Promise<string>;
}

interface Claim {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly storageClassName?: string };
  readonly status?: { readonly phase?: string };
}

/** A claim that a pod can mount. */
export interface Volume {
  readonly claim: string;
  /** No other claim ever has the same one. */
  readonly id: string;
}

export interface Volumes extends SandboxVolumes {
  /** Creates it if there is none. Throws ClusterError with the reason. */
  open(conversation: SandboxConversation): Promise<Volume>;
  /** Undefined if there is none, or if it is being deleted. */
  find(conversation: SandboxConversation): Promise<Volume | undefined>;
  /** Why a pod that mounts it cannot start, as a clause; undefined if the volume is not the cause. Never rejects. */
  findFault(volume: Volume): Promise<string | undefined>;
}

export const serviceLabel = 'parley.dev/service';

/** How long a claim that is being deleted may take to go. */
const goneMsMax = 30_000;
const lookAgainMs = 200;
const notFound = 404;
const conflict = 409;

const hasStatus = (error: unknown, ...statuses: number[]) =>
  error instanceof ClusterError && statuses.includes(error.status ?? 0);

/** Keys alone are not enough: a database that was restored counts from an earlier one again. */
function nameOf(service: string, { key, userId, id }: SandboxConversation): string {
  const text = JSON.stringify([service, key, userId, id]);
  return `parley-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

export function createVolumes(api: Api, namespace: string, options: VolumeOptions): Volumes {
  const { size, storageClass, serviceId } = options;
  const folder = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  const pathOf = (name: string) => `${folder}/${name}`;
  /** What the last list has found. Only these are removed, so that a claim which is younger than the list stays. */
  let listed = new Map<number, Claim[]>();

  async function find(name: string): Promise<Claim | undefined> {
    return api.call<Claim>({ path: pathOf(name) }).catch((error: unknown) => {
      if (hasStatus(error, notFound)) return undefined;
      throw error;
    });
  }

  /** Undefined if another process was faster. */
  async function create(name: string, service: string, of: SandboxConversation): Promise<Claim | undefined> {
    const labels = {
      ...managedBy,
      [serviceLabel]: labelOf(service),
      [keyLabel]: String(of.key),
      ...labelsOfConversation(of),
    };
    const body = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, labels },
      spec: {
        accessModes: ['ReadWriteOnce'],
        ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
        resources: { requests: { storage: size } },
      },
    };
    return api.call<Claim>({ method: 'POST', path: folder, body }).catch((error: unknown) => {
      if (hasStatus(error, conflict)) return undefined;
      throw error;
    });
  }

  /** Neither another claim of the same name nor one that is gone already is an error. */
  async function removeClaim({ metadata: { name, uid } }: Claim): Promise<boolean> {
    const body = { preconditions: { uid }, propagationPolicy: 'Background' };
    try {
      await api.call({ method: 'DELETE', path: pathOf(name), body });
      return true;
    } catch (error) {
      if (hasStatus(error, notFound, conflict)) return false;
      throw error;
    }
  }

  return {
    open: async (conversation) => {
      const service = await serviceId();
      const name = nameOf(service, conversation);
      for (const since = performance.now(); ; ) {
        const claim = (await find(name)) ?? (await create(name, service, conversation));
        if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
          return { claim: name, id: claim.metadata.uid };
        if (performance.now() - since > goneMsMax)
          throw new ClusterError(
            `an earlier volume of this conversation (PersistentVolumeClaim ${name}) is not deleted in time`,
          );
        await wait(lookAgainMs);
      }
    },
    find: async (conversation) => {
      const name = nameOf(await serviceId(), conversation);
      const { metadata } = (await find(name)) ?? {};
      const isUsable = metadata !== undefined && metadata.deletionTimestamp === undefined;
      return isUsable ? { claim: name, id: metadata.uid } : undefined;
    },
    findFault: async ({ claim: name }) => {
      const claim = await find(name).catch(() => undefined);
      const phase = claim?.status?.phase;
      if (claim === undefined || phase === 'Bound') return undefined;
      const which = `its volume (PersistentVolumeClaim ${name})`;
      if (phase === 'Lost') return `${which} has lost its PersistentVolume`;
      const used = claim.spec?.storageClassName ?? '';
      return used === ''
        ? `${which} is not bound: no storage class is configured, and the cluster has no default`
        : `${which} is not bound: the storage class ${used} has provided no volume`;
    },
    list: async () => {
      const found = new Map<number, Claim[]>();
      const labels = { [serviceLabel]: labelOf(await serviceId()) };
      for (const claim of await listObjects<Claim>(api, folder, labels)) {
        const key = Number(claim.metadata.labels?.[keyLabel]);
        if (!Number.isSafeInteger(key) || claim.metadata.deletionTimestamp !== undefined) continue;
        found.set(key, [...(found.get(key) ?? []), claim]);
      }
      listed = found;
      return [...found.keys()];
    },
    remove: async (key) => {
      const removed = await Promise.all((listed.get(key) ?? []).map(removeClaim));
      return removed.includes(true);
    },
  };
}
