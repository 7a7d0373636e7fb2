// Decides which private addresses the service may connect to: all, none, or those of hosts that the operator listed.
import { isIP } from 'node:net';
import { classifyAddress, isInRange } from './addresses.ts';

/** The host and port of an outgoing connection, as the URL names them. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A host name, whatever it resolves to, or an address, whatever its name. All ports are allowed if none is given. */
export type PrivateHost = ({ readonly name: string } | { readonly range: string }) & {
  readonly port?: number;
};

export type PrivateAccess = boolean | readonly PrivateHost[];

/** Evaluated for every connection, because users can be created while the service runs. */
export type AllowPrivate = () => PrivateAccess | Promise<PrivateAccess>;

export const privateHostsForm =
  'must be 0, 1, or hosts separated by commas, such as 127.0.0.1:11434, models.internal:8000 or 10.1.0.0/16; link-local and reserved addresses are never allowed';

const portMax = 65_535;

function parseRange(text: string): PrivateHost | undefined {
  const [address = '', bits = ''] = text.split('/');
  const bitsMax = isIP(address) === 4 ? 32 : 128;
  const isGood = isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax;
  return isGood && classifyAddress(address) !== 'never' ? { range: `${address}/${bits}` } : undefined;
}

function parseHost(text: string): PrivateHost | undefined {
  const [, host = '', digits] =
    isIP(text) === 6
      ? ['', `[${text}]`]
      : (/^([^\s:/?#@[\]]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i.exec(text) ?? []);
  // Normalized like the URLs of users: lower case, and one notation for each address.
  const name = URL.parse(`http://${host}/`)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? '';
  const port = digits === undefined ? {} : { port: Number(digits) };
  if (name === '' || port.port === 0 || (port.port ?? 0) > portMax) return undefined;
  const version = isIP(name);
  if (version !== 0)
    return classifyAddress(name) === 'never'
      ? undefined
      : { range: `${name}/${version === 4 ? 32 : 128}`, ...port };
  // A word such as "true" is more likely a mistake than a host.
  return name.includes('.') || name === 'localhost' || digits !== undefined ? { name, ...port } : undefined;
}

/** Returns undefined if the text is not valid. */
export function parsePrivateAccess(text: string): PrivateAccess | undefined {
  if (text === '0' || text === '1') return text === '1';
  const hosts: PrivateHost[] = [];
  for (const item of text.split(',').map((one) => one.trim())) {
    const host = item.includes('/') ? parseRange(item) : parseHost(item);
    if (host === undefined) return undefined;
    hosts.push(host);
  }
  return hosts;
}

/** Whether the service may connect to a private address that the target resolved to. */
export function allowsPrivate(access: PrivateAccess, { host, port }: Target, address: string): boolean {
  if (typeof access === 'boolean') return access;
  const name = host.toLowerCase().replace(/\.$/, '');
  return access.some((allowed) => {
    if (allowed.port !== undefined && allowed.port !== port) return false;
    return 'name' in allowed ? allowed.name === name : isInRange(address, allowed.range);
  });
}

/** The list for messages to people. */
export function describeHosts(hosts: readonly PrivateHost[]): string {
  const shown = hosts.map((host) => {
    if ('name' in host) return host.port === undefined ? host.name : `${host.name}:${host.port}`;
    const [address = '', bits = ''] = host.range.split('/');
    const isOne = Number(bits) === (isIP(address) === 4 ? 32 : 128);
    if (host.port === undefined) return isOne ? address : host.range;
    return `${isIP(address) === 6 ? `[${address}]` : address}:${host.port}`;
  });
  return shown.join(', ');
}
