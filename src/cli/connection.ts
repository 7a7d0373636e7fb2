// Where the service is that client commands speak to, and the key for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParley, type Parley, ParleyError } from '../client/parley.ts';
import { isLoopbackName, readConfig } from '../config.ts';
import { RefusalError } from '../errors.ts';

const usualPort = '3000';
/** Somebody waits and looks on. */
const createForMs = 10_000;

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
  const port = env['PORT'] || usualPort;
  if (!isAddressNamed(env) && !(/^\d+$/.test(port) && URL.canParse(`http://127.0.0.1:${port}`)))
    throw new RefusalError('PORT must be a whole number from 0 to 65535.');
  const text = isAddressNamed(env) ? String(env['PARLEY_URL']) : `http://127.0.0.1:${port}`;
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.search + url.hash !== '')
    throw new RefusalError('PARLEY_URL must be an http or https URL, such as http://127.0.0.1:3000.');
  return { url: url.href.replace(/\/+$/, ''), isLocal: isLoopbackName(url.hostname.replace(/^\[|\]$/g, '')) };
}

/** Undefined where there is none; throws where it is there and cannot be read. The owner's own never leaves this machine. */
export function findKey({ isLocal }: ServiceAddress, env: Environment = process.env): string | undefined {
  if (env['PARLEY_KEY'] !== undefined && env['PARLEY_KEY'] !== '') return env['PARLEY_KEY'];
  if (!isLocal) return undefined;
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

/** Throws where no key is known. */
export function connect(): Parley {
  const address = serviceAddress();
  const key = findKey(address);
  if (key !== undefined) return createParley({ url: address.url, key, times: { createForMs } });
  const where = address.isLocal
    ? 'run this in the folder of the service, name its data folder with PARLEY_DATA_DIR, or set PARLEY_KEY'
    : 'set PARLEY_KEY';
  throw new ParleyError('unauthorized', `There is no key for ${address.url}: ${where}.`);
}
