// Hosts on private addresses that the operator named, from the option to the connection.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { createOutgoingFetch } from './fetch.ts';
import { describeHosts, parsePrivateAccess } from './privateHosts.ts';
import { checkUrl } from './resolve.ts';

describe('the hosts that an operator may name', () => {
  const good: readonly [text: string, shown: string][] = [
    ['127.0.0.1:11434', '127.0.0.1:11434'],
    ['127.1:80', '127.0.0.1:80'],
    ['192.168.1.10', '192.168.1.10'],
    ['fd00::5', 'fd00::5'],
    ['[FD00:0::5]:8000', '[fd00::5]:8000'],
    ['10.1.0.0/16, fd00::/8', '10.1.0.0/16, fd00::/8'],
    ['Models.Internal.:8000', 'models.internal:8000'],
    ['ollama:11434,localhost', 'ollama:11434, localhost'],
  ];
  for (const [text, shown] of good)
    it(`include ${text}`, () => {
      const access = parsePrivateAccess(text);
      assert.ok(typeof access === 'object');
      assert.equal(describeHosts(access), shown);
    });

  const bad = [
    ...[
      'true',
      'yes',
      '2',
      '-1',
      '*',
      'all',
      '10.0.0.1,',
      ',',
      'a b:1',
      'http://models.internal',
      'user@host:1',
    ],
    ...[
      'host:0',
      'host:65536',
      'host:x',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/8:80',
      'host/8',
      'fd00::/129',
    ],
    ...[
      '169.254.169.254',
      '169.254.169.254:80',
      '169.254.0.0/16',
      '0.0.0.0/0',
      '::/0',
      'fe80::1',
      '[fe80::1]:80',
    ],
    ...['0.0.0.0', '224.0.0.1', '::ffff:169.254.169.254', '2852039166'],
  ];
  for (const text of bad)
    it(`do not include ${text}`, () => {
      assert.equal(parsePrivateAccess(text), undefined);
    });

  it('are all or none with 1 and 0', () => {
    assert.deepEqual([parsePrivateAccess('1'), parsePrivateAccess('0')], [true, false]);
  });
});

/** Whether a URL may be connected to where its name resolves to these addresses. */
async function isAllowed(allowed: string, url: string, ...addresses: string[]): Promise<boolean> {
  const access = parsePrivateAccess(allowed);
  assert.ok(access !== undefined);
  const lookup = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return checkUrl(new URL(url), access, lookup).then(
    () => true,
    () => false,
  );
}

describe('a connection to a private address', () => {
  const cases: readonly [expected: boolean, ...Parameters<typeof isAllowed>][] = [
    [true, '127.0.0.1:11434', 'http://127.0.0.1:11434/v1'],
    [false, '127.0.0.1:11434', 'http://127.0.0.1:11435/v1'],
    [false, '127.0.0.1:11434', 'http://127.0.0.2:11434/v1'],
    [true, '127.0.0.1', 'http://[::ffff:127.0.0.1]:5/'],
    [true, '10.1.0.0/16', 'https://10.1.255.255/'],
    [false, '10.1.0.0/16', 'https://10.2.0.0/'],
    [true, '10.0.0.5:443', 'https://10.0.0.5/'],
    [true, '10.0.0.5:80', 'http://10.0.0.5/'],
    [false, '10.0.0.5:443', 'http://10.0.0.5/'],
    [true, 'fd00::/8', 'http://[fd12::1]/'],
    // By name: whatever private address it has, and nothing else.
    [true, 'models.internal:8000', 'http://MODELS.internal.:8000/', '10.0.0.5', 'fd00::5'],
    [false, 'models.internal:8000', 'http://models.internal:8001/', '10.0.0.5'],
    [false, 'models.internal:8000', 'http://other.internal:8000/', '10.0.0.5'],
    [false, 'models.internal:8000', 'http://x.models.internal:8000/', '10.0.0.5'],
    [false, 'models.internal:8000', 'http://models.internal:8000/', '10.0.0.5', '169.254.169.254'],
    [false, 'models.internal:8000', 'http://10.0.0.5:8000/'],
    // By address: whatever the name is, but all addresses of the name must be good.
    [true, '10.0.0.5', 'http://anything.example/', '10.0.0.5'],
    [true, '10.0.0.5', 'http://anything.example/', '10.0.0.5', '1.1.1.1'],
    [false, '10.0.0.5', 'http://anything.example/', '10.0.0.5', '10.0.0.6'],
    // Public addresses need no entry.
    [true, '10.0.0.5', 'http://anything.example/', '1.1.1.1'],
  ];
  for (const [expected, allowed, url, ...addresses] of cases)
    it(`is ${expected ? 'allowed' : 'refused'} with ${allowed}: ${[url, ...addresses].join(' ')}`, async () => {
      assert.equal(await isAllowed(allowed, url, ...addresses), expected);
    });

  it('goes to the address that was checked, and is refused once the name leads elsewhere', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('hello'));
    const { port } = new URL(server.url);
    const access = parsePrivateAccess(`model.internal:${port}`) ?? false;
    const answers = ['127.0.0.1', '169.254.169.254'];
    const lookup = async () => [{ address: answers.shift() ?? '', family: 4 }];
    const bounds = { timeoutMs: 60_000, responseBytesMax: 1_000 };
    const get = createOutgoingFetch({ allowPrivate: () => access, lookup, ...bounds });
    assert.equal(await (await get(`http://model.internal:${port}/`)).text(), 'hello');
    await assert.rejects(get(`http://model.internal:${port}/`), { code: 'address_not_allowed' });
    assert.equal(server.requests.length, 1);
  });
});
