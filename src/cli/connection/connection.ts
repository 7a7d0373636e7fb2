// Which service the client commands use, and which API key they send to it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParley, type Fetch, type Parley, ParleyError } from '../../client/parley.ts';
import { type Environment, isLoopbackName } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { type Context, readContexts } from './contexts.ts';
import { readCommandConfig } from './dataFolder.ts';
import { findService } from './runningService.ts';

const defaultUrl = 'http://127.0.0.1:3000';
/** How long a creation is retried: somebody is waiting for it. */
const createForMs = 10_000;

export interface ServiceAddress {
  readonly url: string;
  readonly isLocal: boolean;
  /** Whether the owner's API key may be sent there: it is on this machine, and the user or the service itself named it. */
  readonly isTrusted: boolean;
  /** The context that named it. Its API key belongs to this URL. */
  readonly context?: Context;
}

const variables = ['PARLEY_URL', 'PARLEY_KEY', 'PORT', 'PARLEY_DATA_DIR', 'DATABASE_URL', 'SESSION_API_KEY'];

/** The variable that names a service, its key or its data, and so wins over the current context. */
export function overridingVariable(env: Environment = process.env): string | undefined {
  return variables.find((name) => env[name]);
}

function currentContext(env: Environment): Context | undefined {
  return overridingVariable(env) === undefined ? readContexts(env).current : undefined;
}

/** Whether the user named a service, by PARLEY_URL or by a context. */
export function isServiceNamed(env: Environment = process.env): boolean {
  return Boolean(env['PARLEY_URL']) || currentContext(env) !== undefined;
}

/** Names below localhost may resolve to other machines. */
function isThisMachine(hostname: string): boolean {
  return isLoopbackName(hostname) && !hostname.endsWith('.localhost');
}

/** `what` names the URL in an error. */
export function parseServiceUrl(text: string, what: string): ServiceAddress {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.search + url.hash !== '')
    throw new RefusalError(`${what} must be an http or https URL, such as ${defaultUrl}.`);
  const isLocal = isThisMachine(url.hostname);
  return { url: url.href.replace(/\/+$/, ''), isLocal, isTrusted: isLocal };
}

function addressOfPort(port: string): ServiceAddress {
  const url = `http://127.0.0.1:${port}`;
  if (!/^\d+$/.test(port) || !URL.canParse(url))
    throw new RefusalError('PORT must be a whole number from 0 to 65535.');
  return { url: new URL(url).origin, isLocal: true, isTrusted: true };
}

/** Tries PARLEY_URL, PORT, the current context, the running service that uses the data folder, and the default URL. */
export function serviceAddress(env: Environment = process.env): ServiceAddress {
  if (env['PARLEY_URL']) return parseServiceUrl(env['PARLEY_URL'], 'PARLEY_URL');
  if (env['PORT']) return addressOfPort(env['PORT']);
  const context = currentContext(env);
  if (context !== undefined)
    return { ...parseServiceUrl(context.url, `The URL of the context "${context.name}"`), context };
  const url = findService(readCommandConfig(env).dataDir);
  return { url: url ?? defaultUrl, isLocal: true, isTrusted: url !== undefined };
}

/** Undefined if no API key may be sent there. Throws RefusalError if there is one that cannot be read. */
export function findKey(
  { isTrusted, context }: ServiceAddress,
  env: Environment = process.env,
): string | undefined {
  if (env['PARLEY_KEY']) return env['PARLEY_KEY'];
  if (context !== undefined) return context.key;
  if (!isTrusted) return undefined;
  const { dataDir, sessionApiKey } = readCommandConfig(env);
  if (sessionApiKey !== undefined) return sessionApiKey;
  const file = join(dataDir, 'owner.key');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new RefusalError(
      `The owner's API key in ${file} cannot be read: ${code}. Set PARLEY_KEY, or run this command as the user of the service.`,
    );
  }
}

const hasProxy = (env: Environment) =>
  ['http_proxy', 'https_proxy'].some((name) => env[name] || env[name.toUpperCase()]);

/** Bypasses every proxy for this machine, so that its API key does not leave it. Undefined: the default fetch will do. */
export function fetchFor({ isLocal }: ServiceAddress, env: Environment = process.env): Fetch | undefined {
  if (!isLocal || !hasProxy(env)) return undefined;
  const direct = import('undici').then(({ Agent, fetch }) => ({ dispatcher: new Agent(), fetch }));
  return async (url, init) => {
    const { dispatcher, fetch } = await direct;
    return (await fetch(url, { ...(init as object), dispatcher })) as unknown as Response;
  };
}

function missingKey({ url, isLocal, isTrusted }: ServiceAddress): ParleyError {
  if (isLocal && !isTrusted)
    return new ParleyError(
      'unauthorized',
      `No running service uses the data folder ${readCommandConfig().dataDir}, and its API key is sent to no other service. Start it with "${commandName} serve", set PARLEY_DATA_DIR to its data folder, or set PARLEY_URL.`,
    );
  const advice = isLocal
    ? 'run this command in the folder of the service, set PARLEY_DATA_DIR to its data folder, or set PARLEY_KEY'
    : `set PARLEY_KEY, or log in: ${commandName} login ${url}`;
  return new ParleyError('unauthorized', `There is no API key for ${url}: ${advice}.`);
}

/** Throws if there is no API key. */
export function getKey(address: ServiceAddress, env: Environment = process.env): string {
  const key = findKey(address, env);
  if (key === undefined) throw missingKey(address);
  return key;
}

/** `timeoutMs` bounds each request. Throws if there is no API key. */
export function connect(timeoutMs?: number): Parley {
  const address = serviceAddress();
  const key = getKey(address);
  return createParley({ url: address.url, key, fetch: fetchFor(address), times: { createForMs, timeoutMs } });
}
