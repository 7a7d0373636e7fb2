// Checks the running service, or whether one could be started.
import { createServer } from 'node:net';
import {
  createParley,
  type Diagnostics,
  type Parley,
  ParleyError,
  type ParleyOptions,
  type ServerInfo,
  type Settings,
} from '../../client/parley.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { version } from '../../process/version.ts';
import { fetchFor, type ServiceAddress } from '../connection/connection.ts';
import { checkCluster } from './cluster.ts';
import { compareClocks, type Finding, note, ok, wrong } from './finding.ts';

/** Longer than the service itself waits for the other processes of its cluster. */
const answerMsMax = 15_000;

/** Why a service could not listen there, or undefined if it could. */
function portFault({ host, port }: Pick<Config, 'host' | 'port'>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'failed'));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

/** For a service that does not answer: checks whether one could be started. */
export async function checkPort(config: Pick<Config, 'host' | 'port'>): Promise<Finding> {
  const { host, port } = config;
  const fault = await portFault(config);
  if (fault === undefined)
    return note('service', `No service runs; port ${port} is free.`, `Start it with: ${commandName} serve`);
  const why = fault === 'EADDRINUSE' ? 'another program uses it' : fault;
  return wrong(
    'service',
    `No service answers, and port ${port} on ${host} cannot be used: ${why}.`,
    'Choose another port with PORT, or stop the other program.',
  );
}

/** The settings, with the names of the model providers that have an API key of their own. */
export type CheckedSettings = Settings & { readonly providerKeys: readonly string[] };

/** Empty for a service of an earlier version, which has no such keys. */
async function listProviderKeys({ providerKeys }: Parley): Promise<string[]> {
  try {
    const { provider_keys: keys } = await providerKeys.list();
    return keys.filter(({ is_set: isSet }) => isSet).map(({ provider }) => provider);
  } catch (error) {
    if (error instanceof ParleyError) return [];
    throw error;
  }
}

export interface ServiceCheck {
  readonly findings: readonly Finding[];
  /** Undefined if there is no service, or it refuses the key. */
  readonly settings: CheckedSettings | undefined;
  readonly info: ServerInfo | undefined;
  /** Undefined if the key lacks the scope admin, or the service is older. */
  readonly diagnostics: Diagnostics | undefined;
}

/** A RefusalError if there is a key that cannot be read. */
type FoundKey = string | RefusalError | undefined;

/** The owner's key is only in the data folder of the machine that was started first. */
const keyElsewhere = note(
  'key',
  'There is no API key on this machine, so it was not checked whether the service accepts one.',
  `Set PARLEY_KEY to check that, too. On other machines of a cluster there is no owner.key; "${commandName} keys create --scope all" creates another key.`,
);

async function checkKey(
  parley: Parley,
  key: FoundKey,
  { database }: ServerInfo,
): Promise<[Finding, CheckedSettings | undefined]> {
  const remedy = `Set PARLEY_KEY, or set PARLEY_DATA_DIR to the data folder of the service. "${commandName} keys create" creates a new key.`;
  if (key instanceof RefusalError) return [wrong('key', key.message, remedy), undefined];
  if (key === undefined && database === 'postgres') return [keyElsewhere, undefined];
  if (key === undefined) return [wrong('key', 'There is no API key for the service.', remedy), undefined];
  try {
    const settings = await parley.settings.get();
    const checked = { ...settings, providerKeys: await listProviderKeys(parley) };
    return [ok('key', 'The service accepts the API key.'), checked];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [wrong('key', `The service refuses the API key: ${error.message}`, remedy), undefined];
  }
}

async function checkReady(parley: Parley): Promise<Finding[]> {
  try {
    await parley.server.ready();
    return [];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [wrong('service', `The service is not ready: ${error.message}`, 'Check its log and the disk.')];
  }
}

async function readDiagnostics(parley: Parley): Promise<Diagnostics | undefined> {
  try {
    return await parley.server.diagnostics();
  } catch (error) {
    if (error instanceof ParleyError) return undefined;
    throw error;
  }
}

function faultOf(url: string, error: ParleyError): ServiceCheck {
  const finding = wrong(
    'service',
    `The server at ${url} does not answer like Parley: ${error.message}`,
    'Check its log, or set PARLEY_URL to the URL of Parley.',
  );
  return { findings: [finding], settings: undefined, info: undefined, diagnostics: undefined };
}

/** Undefined if no Parley service answers. */
export async function checkService(
  address: ServiceAddress,
  key: FoundKey,
): Promise<ServiceCheck | undefined> {
  const { url } = address;
  const send = fetchFor(address) ?? fetch;
  let date: number | undefined;
  const options: ParleyOptions = {
    url,
    times: { timeoutMs: answerMsMax },
    fetch: async (to, init) => {
      const answer = await send(to, init);
      const sent = Date.parse(answer.headers.get('date') ?? '');
      if (!Number.isNaN(sent)) date = sent;
      return answer;
    },
  };
  let info: ServerInfo;
  try {
    // Ask for its name first: only a Parley service gets a key.
    info = await createParley(options).server.info();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return error.code === 'network' ? undefined : faultOf(url, error);
  }
  if (info?.name !== 'parley') return undefined;
  const about = `Parley ${info.version} answers at ${url} (${info.database}, role ${info.role}).`;
  const service =
    info.version === version
      ? ok('service', about)
      : note('service', `${about} This program is ${version}.`, 'Restart the service after an update.');
  const parley = createParley({ ...options, key: typeof key === 'string' ? key : undefined });
  // A worker answers no requests with keys.
  const [keyFinding, settings] = info.role === 'worker' ? [] : await checkKey(parley, key, info);
  // The Date header has whole seconds, rounded down.
  const clock = date === undefined ? [] : [compareClocks('the service', date + 500, Date.now())];
  const ready = await checkReady(parley);
  const diagnostics = settings === undefined ? undefined : await readDiagnostics(parley);
  const processes = diagnostics === undefined ? [] : checkCluster(diagnostics);
  const keyFindings = keyFinding === undefined ? [] : [keyFinding];
  return {
    findings: [service, ...ready, ...keyFindings, ...clock, ...processes],
    settings,
    info,
    diagnostics,
  };
}
