// Where the service is that client commands speak to, and the key for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParley, type Fetch, type Parley, ParleyError } from '../client/parley.ts';
import { isLoopbackName, readConfig } from '../config.ts';
import { RefusalError } from '../errors.ts';
import { commandName } from '../process/program.ts';
import { findService } from './runningService.ts';

const usualUrl = 'http://127.0.0.1:3000';
/** Somebody waits and looks on. */
const createForMs = 10_000;

export interface ServiceAddress {
  readonly url: string;
  readonly isLocal: boolean;
  /** Whether the owner's key may go there: on this machine, and named by the user or by the service itself. */
  readonly isTrusted: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the user said where the service is. */
export function isAddressNamed(env: Environment = process.env): boolean {
  return (env['PARLEY_URL'] ?? '') !== '';
}

/** Names below localhost may be resolved elsewhere. */
function isThisMachine(hostname: string): boolean {
  return isLoopbackName(hostname) && !hostname.endsWith('.localhost');
}

function namedAddress(text: string): ServiceAddress {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.search + url.hash !== '')
    throw new RefusalError(`PARLEY_URL must be an http or https URL, such as ${usualUrl}.`);
  const isLocal = isThisMachine(url.hostname);
  return { url: url.href.replace(/\/+$/, ''), isLocal, isTrusted: isLocal };
}

function addressOfPort(port: string): ServiceAddress {
  const url = `http://127.0.0.1:${port}`;
  if (!/^\d+$/.test(port) || !URL.canParse(url))
    throw new RefusalError('PORT must be a whole number from 0 to 65535.');
  return { url: new URL(url).origin, isLocal: true, isTrusted: true };
}

/** What PARLEY_URL or PORT say, else where the service of the data folder runs, else where one usually is. */
export function serviceAddress(env: Environment = process.env): ServiceAddress {
  if (isAddressNamed(env)) return namedAddress(String(env['PARLEY_URL']));
  if (env['PORT']) return addressOfPort(env['PORT']);
  const url = findService(readConfig({ ...env }).dataDir);
  return { url: url ?? usualUrl, isLocal: true, isTrusted: url !== undefined };
}

/** Undefined where there is none that may go there; throws where it is there and cannot be read. */
export function findKey({ isTrusted }: ServiceAddress, env: Environment = process.env): string | undefined {
  if (env['PARLEY_KEY'] !== undefined && env['PARLEY_KEY'] !== '') return env['PARLEY_KEY'];
  if (!isTrusted) return undefined;
  const { dataDir, sessionApiKey } = readConfig({ ...env });
  if (sessionApiKey !== undefined) return sessionApiKey;
  const file = join(dataDir, 'owner.key');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new RefusalError(
      `The owner's key in ${file} cannot be read: ${code}. Set PARLEY_KEY, or run this as its owner.`,
    );
  }
}

const hasProxy = (env: Environment) =>
  ['http_proxy', 'https_proxy'].some((name) => env[name] || env[name.toUpperCase()]);

/**
 * Past every proxy: a key for this machine does not leave it. Undefined where there is none, and the usual one will do.
 */
export function fetchFor({ isLocal }: ServiceAddress, env: Environment = process.env): Fetch | undefined {
  if (!isLocal || !hasProxy(env)) return undefined;
  const direct = import('undici').then(({ Agent, fetch }) => ({ dispatcher: new Agent(), fetch }));
  return async (url, init) => {
    const { dispatcher, fetch } = await direct;
    return (await fetch(url, { ...(init as object), dispatcher })) as unknown as Response;
  };
}

function keyFault({ url, isLocal, isTrusted }: ServiceAddress): ParleyError {
  if (isLocal && !isTrusted)
    return new ParleyError(
      'unauthorized',
      `No service is known to run on the data folder ${readConfig(process.env).dataDir}, and its key is sent to no other: start it with "${commandName} serve", name its folder with PARLEY_DATA_DIR, or say where it is with PARLEY_URL.`,
    );
  const where = isLocal
    ? 'run this in the folder of the service, name its data folder with PARLEY_DATA_DIR, or set PARLEY_KEY'
    : 'set PARLEY_KEY';
  return new ParleyError('unauthorized', `There is no key for ${url}: ${where}.`);
}

/** Throws where no key is known. */
export function connect(): Parley {
  const address = serviceAddress();
  const key = findKey(address);
  if (key === undefined) throw keyFault(address);
  return createParley({ url: address.url, key, fetch: fetchFor(address), times: { createForMs } });
}
