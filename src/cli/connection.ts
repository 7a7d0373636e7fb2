// Where the service is that client commands speak to, and the key for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParley, type Parley, ParleyError } from '../client/parley.ts';
import { isLoopbackName, readConfig } from '../config.ts';
import { RefusalError } from '../errors.ts';

const usualPort = '3000';

export interface ServiceAddress {
  readonly url: string;
  /** Whether it is on this machine, so that the owner's key may go there. */
  readonly isLocal: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the user said where the service is. */
export function isAddressNamed(env: Environment = process.env): boolean {
  return (env['PARLEY_URL'] ?? '') !== '';
}

export function serviceAddress(env: Environment = process.env): ServiceAddress {
  const usual = `http://127.0.0.1:${env['PORT'] || usualPort}`;
  const text = isAddressNamed(env) ? String(env['PARLEY_URL']) : usual;
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.search + url.hash !== '')
    throw new RefusalError('PARLEY_URL must be an http or https URL, such as http://127.0.0.1:3000.');
  return { url: url.href.replace(/\/+$/, ''), isLocal: isLoopbackName(url.hostname.replace(/^\[|\]$/g, '')) };
}

/** Undefined where there is none. The owner's own never leaves this machine. */
export function findKey({ isLocal }: ServiceAddress, env: Environment = process.env): string | undefined {
  if (env['PARLEY_KEY'] !== undefined && env['PARLEY_KEY'] !== '') return env['PARLEY_KEY'];
  if (!isLocal) return undefined;
  const { dataDir, sessionApiKey } = readConfig({ ...env });
  if (sessionApiKey !== undefined) return sessionApiKey;
  try {
    return readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Throws where no key is known. */
export function connect(): Parley {
  const address = serviceAddress();
  const key = findKey(address);
  if (key !== undefined) return createParley({ url: address.url, key });
  const where = address.isLocal
    ? 'run this in the folder of the service, name its data folder with PARLEY_DATA_DIR, or set PARLEY_KEY'
    : 'set PARLEY_KEY';
  throw new ParleyError('unauthorized', `There is no key for ${address.url}: ${where}.`);
}
