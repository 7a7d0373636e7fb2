// An API server in memory, for tests of what is created, watched and deleted. A test is its controller.
import { EventEmitter, on } from 'node:events';
import { type Api, type ApiRequest, ClusterError } from '../../src/sandbox/kubernetes/api.ts';
import type { ObjectMeta } from '../../src/sandbox/kubernetes/podStatus.ts';

export interface FakeObject {
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: object;
}

export interface FakeClusterApi extends Api {
  /** The paths of all objects. */
  paths(): readonly string[];
  find(path: string): FakeObject | undefined;
  /** Creates or replaces an object, as a controller does. */
  put(path: string, object: Omit<FakeObject, 'metadata'> & { metadata?: Partial<ObjectMeta> }): void;
  /** Merges with the object. */
  change(path: string, change: object): void;
  delete(path: string): void;
  /** Answers requests to a path that is no object. */
  answer(path: string, answer: (body: object | undefined) => object): void;
  /** Called after each creation by the tested code, with the path of the object. */
  onCreate: (path: string, object: FakeObject) => void;
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/'));
const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

function merge(below: unknown, above: unknown): unknown {
  if (!isPlain(below) || !isPlain(above)) return above;
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) merged[key] = merge(merged[key], value);
  return merged;
}
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function createFakeClusterApi(): FakeClusterApi {
  const objects = new Map<string, FakeObject>();
  const answers = new Map<string, (body: object | undefined) => object>();
  const changes = new EventEmitter();
  let version = 0;

  function notify(path: string, type: string, object: FakeObject): void {
    changes.emit('change', { path, type, object });
  }

  function put(path: string, object: object): FakeObject {
    const existed = objects.has(path);
    const { metadata, ...rest } = object as FakeObject;
    const stored: FakeObject = {
      ...rest,
      metadata: {
        uid: `uid-${++version}`,
        creationTimestamp: new Date().toISOString(),
        ...metadata,
        name: nameOf(path),
        resourceVersion: String(++version),
      },
    };
    objects.set(path, stored);
    notify(path, existed ? 'MODIFIED' : 'ADDED', stored);
    return stored;
  }

  function remove(path: string): FakeObject {
    const found = objects.get(path);
    if (found === undefined) throw new ClusterError(`${path} not found`, 404);
    objects.delete(path);
    notify(path, 'DELETED', found);
    return found;
  }

  function list(folder: string, selector: string): object {
    const wanted = selector === '' ? [] : selector.split(',').map((one) => one.split('='));
    const items = [...objects].filter(
      ([path, { metadata }]) =>
        folderOf(path) === folder &&
        wanted.every(([label = '', value]) => metadata.labels?.[label] === value),
    );
    return { items: items.map(([, object]) => object) };
  }

  function respond({ method = 'GET', path, query = {}, body }: ApiRequest): object {
    const answer = answers.get(path);
    if (answer !== undefined) return answer(body);
    if (method === 'DELETE') return remove(path);
    if (method === 'POST') {
      const { name } = (body as FakeObject).metadata;
      const created = put(`${path}/${name}`, body ?? {});
      queueMicrotask(() => api.onCreate(`${path}/${name}`, created));
      return created;
    }
    if (query['labelSelector'] !== undefined) return list(path, query['labelSelector']);
    const found = objects.get(path);
    if (found === undefined) throw new ClusterError(`${path} not found`, 404);
    return found;
  }

  const api: FakeClusterApi = {
    cluster: { server: new URL('https://127.0.0.1'), ca: undefined, token: () => '', namespace: 'test' },
    call: async <Answer>(request: ApiRequest) => {
      request.signal?.throwIfAborted();
      return respond(request) as Answer;
    },
    watch: async function* <Watched>({ path, query = {}, signal }: ApiRequest) {
      const name = query['fieldSelector']?.replace('metadata.name=', '');
      const since = Number(query['resourceVersion'] ?? 0);
      const events = on(changes, 'change', signal === undefined ? {} : { signal });
      const now = name === undefined ? undefined : objects.get(`${path}/${name}`);
      if (now !== undefined && Number(now.metadata.resourceVersion) > since)
        yield { type: 'MODIFIED', object: now } as Watched;
      for await (const [{ path: changed, type, object }] of events)
        if (folderOf(changed) === path && (name === undefined || nameOf(changed) === name))
          yield { type, object } as Watched;
    },
    close: () => {},
    paths: () => [...objects.keys()],
    find: (path) => objects.get(path),
    put: (path, object) => void put(path, object),
    change: (path, change) => void put(path, merge(objects.get(path) ?? {}, change) as object),
    delete: (path) => void remove(path),
    answer: (path, answer) => void answers.set(path, answer),
    onCreate: () => {},
  };
  return api;
}
