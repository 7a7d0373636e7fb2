// Decides which addresses the service may connect to. Everything that is not known to be allowed is refused.
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** `private` needs the operator's permission; `never` is refused whatever the options say. */
export type AddressClass = 'public' | 'private' | 'never';

const never4 = [
  '0.0.0.0/8', // this host
  '169.254.0.0/16', // link-local, where clouds keep the credentials of a machine
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays, given up
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '100.100.100.200/32', // metadata of a cloud, outside the link-local range
  '168.63.129.16/32', // the same
];

const never6 = [
  'fe80::/10', // link-local
  'ff00::/8', // multicast
  '2001::/23', // Teredo and other protocol assignments
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
  'fd00:ec2::254/128', // metadata of a cloud
  'fd20:ce::254/128', // the same
];

const private4 = [
  '10.0.0.0/8',
  '100.64.0.0/10', // shared by the customers of a carrier
  '127.0.0.0/8', // loopback
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
];

const private6 = ['::1/128', 'fc00::/7', 'fec0::/10'];

const loopback4 = ['127.0.0.0/8'];
const loopback6 = ['::1/128'];

/**
 * IPv6 prefixes that end in an IPv4 address: mapped, NAT64, and NAT64 of a local network. The last is a /48, of which
 * only the plain form is understood; in other forms the address may be anywhere.
 */
const embeddings = ['::ffff:', '64:ff9b::', '64:ff9b:1::'];
const embeddingBits = 96;

const global6 = ['2000::/3', ...embeddings.map((prefix) => `${prefix}0.0.0.0/${embeddingBits}`)];

function parseRange(range: string): [address: string, bits: number] {
  const [address = '', bits] = range.split('/');
  return [address, Number(bits)];
}

/** 6to4 addresses contain the IPv4 address right after 2002. */
function to6to4([address, bits]: [string, number]): [string, number] {
  const [a = '', b = '', c = '', d = ''] = address
    .split('.')
    .map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return [`2002:${a}${b}:${c}${d}::`, 16 + bits];
}

/** The ranges, with those of IPv4 in all their IPv6 forms. */
function createList(ranges4: readonly string[], ranges6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges4.map(parseRange)) {
    const [address, bits] = range;
    list.addSubnet(address, bits, 'ipv4');
    for (const prefix of embeddings) list.addSubnet(prefix + address, embeddingBits + bits, 'ipv6');
    list.addSubnet(...to6to4(range), 'ipv6');
  }
  for (const [address, bits] of ranges6.map(parseRange)) list.addSubnet(address, bits, 'ipv6');
  return list;
}

const neverList = createList(never4, never6);
const privateList = createList(private4, private6);
const loopbackList = createList(loopback4, loopback6);
const globalList = createList([], global6);

/** The address without brackets and zone, and its family; undefined if it is not an address. */
function parseAddress(literal: string): [address: string, family: 'ipv4' | 'ipv6'] | undefined {
  const text = literal.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(text);
  if (version === 0) return undefined;
  const [address = ''] = text.split('%');
  return [address, version === 4 ? 'ipv4' : 'ipv6'];
}

/** The class of an IP address, with or without brackets and zone. Anything else is `never`. */
export function classifyAddress(literal: string): AddressClass {
  const parsed = parseAddress(literal);
  if (parsed === undefined || neverList.check(...parsed)) return 'never';
  if (privateList.check(...parsed)) return 'private';
  return parsed[1] === 'ipv4' || globalList.check(...parsed) ? 'public' : 'never';
}

/** Whether an address, in any notation, is in a range such as 10.0.0.0/8. */
export function isInRange(literal: string, range: string): boolean {
  const parsed = parseAddress(literal);
  if (parsed === undefined) return false;
  const list = isIP(range.split('/')[0] ?? '') === 4 ? createList([range], []) : createList([], [range]);
  return list.check(...parsed);
}

/** Whether an address, in any notation, belongs to this machine. */
export function isThisMachine(literal: string): boolean {
  const parsed = parseAddress(literal);
  if (parsed === undefined) return false;
  if (loopbackList.check(...parsed)) return true;
  const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const of = (family: string, bits: number) =>
    own.filter((one) => one.family === family).map(({ address }) => `${address}/${bits}`);
  return createList(of('IPv4', 32), of('IPv6', 128)).check(...parsed);
}
