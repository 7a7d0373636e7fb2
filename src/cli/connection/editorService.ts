// The service that an editor uses: the one that the user named, or the one on this machine. It is looked for when it is
// needed, so that the editor gets an error as the response to its request.
import { createParley, type Fetch, type Parley, ParleyError } from '../../client/parley.ts';
import type { Environment } from '../../config.ts';
import { fetchFor, getKey, isServiceNamed, type ServiceAddress, serviceAddress } from './connection.ts';
import { editorDataDir } from './dataFolder.ts';
import { isEditorService, startLocalService } from './localService.ts';
import { findService, findServiceProcess } from './runningService.ts';

export interface EditorService {
  readonly parley: Parley;
  /** Whether the service has the files of this machine. */
  readonly isLocal: boolean;
  /** Runs work that needs the service. Until it is done, a service on this machine is started again if it ends. */
  use<Out>(work: () => Promise<Out>): Promise<Out>;
}

interface Connection {
  readonly url: string;
  readonly key: string;
  readonly fetch: Fetch;
}

/** How long an editor waits before it tries to reach a lost service again. */
const localTimes = { reconnectMs: 100, reconnectMaxMs: 1_000 };
const namedTimes = { reconnectMaxMs: 5_000 };

function connectTo(address: ServiceAddress, env: Environment): Connection {
  const fetchPlain: Fetch = (url, init) => fetch(url, init);
  return { url: address.url, key: getKey(address, env), fetch: fetchFor(address, env) ?? fetchPlain };
}

function send({ url, key, fetch }: Connection, path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-session-api-key', key);
  return fetch(`${url}${path}`, { ...init, headers });
}

function openNamedService(env: Environment): EditorService {
  let connection: Connection | undefined;
  /** Tries again after a failure, because the user may have logged in meanwhile. */
  const find = () => {
    connection ??= connectTo(serviceAddress(env), env);
    return connection;
  };
  return {
    parley: createParley({
      url: '',
      fetch: async (path, init) => send(find(), path, init),
      times: namedTimes,
    }),
    isLocal: false,
    use: async (work) => {
      find();
      return work();
    },
  };
}

function openLocalService(env: Environment): EditorService {
  let starting: Promise<void> | undefined;
  let connection: Connection | undefined;
  let users = 0;
  /** Somebody else has started the service, with options that are not known here. */
  let isForeign = false;

  async function ensureRunning(dataDir: string): Promise<void> {
    if (findService(dataDir) !== undefined) return;
    // Requests with this error are retried until the service is back.
    if (isForeign)
      throw new ParleyError('network', 'The service has ended. Start it again as it was started before.');
    starting ??= startLocalService(dataDir, env).finally(() => (starting = undefined));
    await starting;
  }

  /** A service that was started again may have another port. */
  async function find(): Promise<Connection> {
    const dataDir = editorDataDir(env);
    if (users > 0) await ensureRunning(dataDir);
    const service = findServiceProcess(dataDir);
    if (service === undefined) throw new Error('The service does not run.');
    const { url, pid } = service;
    isForeign = !isEditorService(dataDir, pid);
    if (connection?.url !== url)
      connection = connectTo({ url, isLocal: true, isTrusted: true }, { ...env, PARLEY_DATA_DIR: dataDir });
    return connection;
  }

  return {
    parley: createParley({
      url: '',
      fetch: async (path, init) => send(await find(), path, init),
      times: localTimes,
    }),
    isLocal: true,
    use: async (work) => {
      users += 1;
      try {
        await find();
        return await work();
      } finally {
        users -= 1;
      }
    },
  };
}

export function openEditorService(env: Environment = process.env): EditorService {
  return isServiceNamed(env) ? openNamedService(env) : openLocalService(env);
}
