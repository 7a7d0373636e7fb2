// The API of Kubernetes, as far as tests use it: JSON over HTTPS with a token.
import { Agent, type Dispatcher, request } from 'undici';

export interface Credentials {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generateName?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object of the cluster. What its kind has is up to the caller. */
export interface KubernetesObject<Status = Record<string, unknown>, Spec = Record<string, unknown>> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Spec;
  readonly status?: Status;
}

/** A refusal of the API server, with its own message. */
export class KubernetesError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface KubernetesApi {
  /** Undefined if there is no such object. */
  find<Status = unknown, Spec = unknown>(path: string): Promise<KubernetesObject<Status, Spec> | undefined>;
  list<Status = unknown, Spec = unknown>(path: string): Promise<KubernetesObject<Status, Spec>[]>;
  /** The kind of an answer may differ from that of the request, as with tokens. */
  create<Status = unknown, Spec = unknown>(
    path: string,
    object: object,
  ): Promise<KubernetesObject<Status, Spec>>;
  /** A merge patch. */
  patch<Status = unknown, Spec = unknown>(
    path: string,
    change: object,
  ): Promise<KubernetesObject<Status, Spec>>;
  /** Does nothing if there is no such object. */
  remove(path: string, options?: object): Promise<void>;
  /** Calls `onChange` for each change of a list, until the signal. Ends early if the server closes the stream. */
  watch(path: string, onChange: () => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const notFound = 404;
const firstFailure = 400;

export function createKubernetesApi({ server, ca, token }: Credentials): KubernetesApi {
  const dispatcher = new Agent({ connect: { ca }, bodyTimeout: 0 });
  const authorization = `Bearer ${token}`;

  function open(method: Dispatcher.HttpMethod, path: string, body?: object, type = 'application/json') {
    return request(`${server}${path}`, {
      dispatcher,
      method,
      headers: { authorization, ...(body && { 'content-type': type }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async function ask<Answer>(...asked: Parameters<typeof open>): Promise<Answer> {
    const { statusCode, body } = await open(...asked);
    const answer = (await body.json()) as Answer & { message?: string };
    if (statusCode >= firstFailure)
      throw new KubernetesError(statusCode, answer.message ?? `status ${statusCode}`);
    return answer;
  }

  const unlessMissing = (error: unknown) => {
    if (error instanceof KubernetesError && error.status === notFound) return undefined;
    throw error;
  };

  return {
    find: <Status = unknown, Spec = unknown>(path: string) =>
      ask<KubernetesObject<Status, Spec>>('GET', path).catch(unlessMissing),
    list: async <Status = unknown, Spec = unknown>(path: string) => {
      const { items, apiVersion, kind } = await ask<{
        apiVersion: string;
        kind: string;
        items: KubernetesObject<Status, Spec>[];
      }>('GET', path);
      // Items of a list do not say what they are.
      return items.map((item) => ({ ...item, apiVersion, kind: kind.replace(/List$/, '') }));
    },
    create: (path, object) => ask('POST', path, object),
    patch: (path, change) => ask('PATCH', path, change, 'application/merge-patch+json'),
    remove: async (path, options) => void (await ask('DELETE', path, options).catch(unlessMissing)),
    watch: async (path, onChange, signal) => {
      const { statusCode, body } = await request(`${server}${path}?watch=true`, {
        dispatcher,
        headers: { authorization },
        signal,
      });
      if (statusCode >= firstFailure) throw new KubernetesError(statusCode, await body.text());
      for await (const _ of body) onChange();
    },
    close: () => dispatcher.destroy(),
  };
}
