// Creates, watches, finds and deletes objects of one kind in one namespace.
import { setTimeout as wait } from 'node:timers/promises';
import { type Api, ClusterError } from './api.ts';
import { listObjects } from './list.ts';
import type { ObjectMeta } from './podStatus.ts';

const watchAgainMs = 200;
const notFound = 404;

export interface Named {
  readonly metadata: ObjectMeta;
}

export interface Objects<One extends Named> {
  create(body: object): Promise<One>;
  /** Undefined if there is none. */
  find(name: string): Promise<One | undefined>;
  /** Those of Parley with these labels. */
  list(labels: Readonly<Record<string, string>>): Promise<readonly One[]>;
  /** What belongs to it follows later. It may be gone already. */
  remove(name: string): Promise<void>;
  /**
   * Calls `look` with each state of the object, until it returns something or throws. Undefined stands for an object
   * that does not exist. Rejects when the signal is aborted.
   */
  until<Found>(
    name: string,
    look: (one: One | undefined) => Found | undefined,
    signal: AbortSignal,
  ): Promise<Found>;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ClusterError && error.status === notFound;
}

const unlessNotFound = (error: unknown) => {
  if (isNotFound(error)) return undefined;
  throw error;
};

/** `folder` is the path of all objects of the kind in the namespace. */
export function createObjects<One extends Named>(api: Api, folder: string): Objects<One> {
  const pathOf = (name: string) => `${folder}/${name}`;
  const find = (name: string, signal?: AbortSignal) =>
    api.call<One>({ path: pathOf(name), signal }).catch(unlessNotFound);

  return {
    create: (body) => api.call<One>({ method: 'POST', path: folder, body }),
    find: (name) => find(name),
    list: (labels) => listObjects<One>(api, folder, labels),
    remove: async (name) => {
      const body = { propagationPolicy: 'Background' };
      await api.call({ method: 'DELETE', path: pathOf(name), body }).catch(unlessNotFound);
    },
    until: async (name, look, signal) => {
      for (;;) {
        const one = await find(name, signal);
        const found = look(one);
        if (found !== undefined) return found;
        const fieldSelector = `metadata.name=${name}`;
        const { resourceVersion = '' } = one?.metadata ?? {};
        const query = { fieldSelector, ...(resourceVersion && { resourceVersion }) };
        for await (const event of api.watch<{ type: string; object: One }>({ path: folder, query, signal })) {
          if (event.object.metadata?.name !== name) break;
          const seen = look(event.type === 'DELETED' ? undefined : event.object);
          if (seen !== undefined) return seen;
        }
        // The API server ends a watch from time to time.
        await wait(watchAgainMs, undefined, { signal });
      }
    },
  };
}
