// What the doctor asks a running service, and whether one could be started where there is none.
import { createServer } from 'node:net';
import {
  createParley,
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
import { fetchFor, type ServiceAddress } from '../connection.ts';
import { compareClocks, type Finding, note, ok, wrong } from './finding.ts';

const answerMsMax = 5_000;

/** Why nothing could listen there, undefined where it could. */
function portFault({ host, port }: Pick<Config, 'host' | 'port'>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'it fails'));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

/** Nothing answered: is there room for a service? */
export async function checkPort(config: Pick<Config, 'host' | 'port'>): Promise<Finding> {
  const { host, port } = config;
  const fault = await portFault(config);
  if (fault === undefined)
    return note('service', `None runs; port ${port} is free.`, `Start it with: ${commandName} serve`);
  const why = fault === 'EADDRINUSE' ? 'another program has it' : fault;
  return wrong(
    'service',
    `None answers, and nothing can listen on ${host} port ${port}: ${why}.`,
    'Choose another with PORT, or end what has it.',
  );
}

export interface AskedService {
  readonly findings: readonly Finding[];
  /** Undefined where there is no service, or it refuses. */
  readonly settings: Settings | undefined;
  readonly info: ServerInfo | undefined;
}

/** A refusal: it is there, but cannot be read. */
type FoundKey = string | RefusalError | undefined;

async function checkKey(parley: Parley, key: FoundKey): Promise<[Finding, Settings | undefined]> {
  const remedy = `Set PARLEY_KEY, or PARLEY_DATA_DIR to its data folder; "${commandName} keys create" makes a new one.`;
  if (key instanceof RefusalError) return [wrong('key', key.message, remedy), undefined];
  if (key === undefined) return [wrong('key', 'There is none to ask the service with.', remedy), undefined];
  try {
    const settings = await parley.settings.get();
    return [ok('key', 'The service takes it.'), settings];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [wrong('key', `The service refuses it: ${error.message}`, remedy), undefined];
  }
}

async function checkReady(parley: Parley): Promise<Finding[]> {
  try {
    await parley.server.ready();
    return [];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [wrong('service', `It cannot take requests: ${error.message}`, 'See its log, and the disk.')];
  }
}

function faultOf(url: string, error: ParleyError): AskedService {
  const finding = wrong(
    'service',
    `What is at ${url} does not answer as it should: ${error.message}`,
    'See its log; or say with PARLEY_URL where Parley is.',
  );
  return { findings: [finding], settings: undefined, info: undefined };
}

/** Undefined where nothing of Parley answers. */
export async function askService(address: ServiceAddress, key: FoundKey): Promise<AskedService | undefined> {
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
    // What is there is known before it is given a key.
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
      : note('service', `${about} This program is ${version}.`, 'Start the service again after an update.');
  const parley = createParley({ ...options, key: typeof key === 'string' ? key : undefined });
  const [keyFinding, settings] = await checkKey(parley, key);
  // A whole number of seconds, cut off.
  const clock = date === undefined ? [] : [compareClocks('the service', date + 500, Date.now())];
  return { findings: [service, ...(await checkReady(parley)), keyFinding, ...clock], settings, info };
}
