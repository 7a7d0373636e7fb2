// Resolves names and checks all addresses, so that sockets connect only to what was checked.
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { classifyAddress } from './addresses.ts';
import { OutgoingError } from './errors.ts';
import { allowsPrivate, type PrivateAccess } from './privateHosts.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Which private addresses are allowed for a target. */
export interface AddressRule {
  readonly private: PrivateAccess;
  readonly port: number;
  /** Addresses that are refused although they are otherwise allowed: this machine, for programs in a sandbox. */
  readonly isOffLimits?: (address: string) => boolean;
}

export const lookUp: Lookup = (hostname) => systemLookup(hostname, { all: true });

function checkAddresses(host: string, addresses: readonly string[], rule: AddressRule): void {
  const classes = new Set(addresses.map(classifyAddress));
  if (classes.has('never'))
    throw new OutgoingError(
      'address_not_allowed',
      'Its address is link-local or reserved, which is never allowed.',
    );
  if (rule.isOffLimits !== undefined && addresses.some(rule.isOffLimits))
    throw new OutgoingError('address_not_allowed', 'Its address belongs to the machine that runs Parley.');
  const { port } = rule;
  const isRefused = (address: string) =>
    classifyAddress(address) === 'private' && !allowsPrivate(rule.private, { host, port }, address);
  if (addresses.some(isRefused))
    throw new OutgoingError(
      'address_not_allowed',
      'Its address is private, which is not allowed; the operator can allow this host with PARLEY_ALLOW_PRIVATE_ADDRESSES.',
    );
}

/** The host of a URL or of a request line, without brackets. */
export const bareHost = (host: string) => host.replace(/^\[|\]$/g, '');

export const portOf = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80));

/** Sockets only look up names, so an address in the URL is checked here. */
export function checkLiteral(host: string, rule: AddressRule): void {
  if (isIP(host) !== 0) checkAddresses(host, [host], rule);
}

async function resolve(lookup: Lookup, hostname: string, rule: AddressRule) {
  const found = await lookup(hostname).catch(() => []);
  if (found.length === 0) throw new OutgoingError('name_not_found', 'Its host name cannot be resolved.');
  checkAddresses(
    hostname,
    found.map(({ address }) => address),
    rule,
  );
  return found;
}

/** Resolves the host and throws OutgoingError if the service may not connect to it. */
export async function checkUrl(url: URL, access: PrivateAccess, lookup: Lookup = lookUp): Promise<void> {
  const host = bareHost(url.hostname);
  const rule = { private: access, port: portOf(url) };
  if (isIP(host) !== 0) checkLiteral(host, rule);
  else await resolve(lookup, host, rule);
}

/** A lookup function for sockets, which connect only to what it returns. */
export function createCheckedLookup(lookup: Lookup, rule: AddressRule): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(lookup, hostname, rule).then(
      ([first, ...rest]) => {
        if (all || first === undefined) callback(null, first === undefined ? [] : [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}
