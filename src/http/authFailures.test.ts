import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAuthFailures, failuresPerMinuteMax, networkOf } from './authFailures.ts';

function createFailures(sharing = 1) {
  const logged: { readonly fields: object; readonly message: string }[] = [];
  let time = 0;
  const failures = createAuthFailures(
    { warn: (fields, message) => void logged.push({ fields, message }) },
    () => sharing,
    () => time,
  );
  const fail = (address: string) => failures.record({ address, route: 'GET /api/settings', requestId: 'r' });
  return { logged, fail, pass: (ms: number) => (time += ms) };
}

describe('failed authentications', () => {
  it('are limited per address, and allowed again as time passes', () => {
    const { fail, pass } = createFailures();
    for (let i = 0; i < failuresPerMinuteMax; i++) assert.equal(fail('192.0.2.1'), undefined);
    const over = fail('192.0.2.1');
    assert.deepEqual([over?.code, over?.headers['connection']], ['rate_limited', 'close']);
    assert.ok((over?.retryAfterS ?? 0) >= 1);
    assert.equal(fail('192.0.2.2'), undefined);
    pass(60_000);
    assert.equal(fail('192.0.2.1'), undefined);
  });

  it('are limited to the share of the process', () => {
    const { fail } = createFailures(3);
    for (let i = 0; i < failuresPerMinuteMax / 3; i++) assert.equal(fail('192.0.2.1'), undefined);
    assert.equal(fail('192.0.2.1')?.code, 'rate_limited');
  });

  it('of one IPv6 network count together', () => {
    const { fail } = createFailures();
    for (let i = 0; i < failuresPerMinuteMax; i++)
      assert.equal(fail(`2001:db8:1:2::${i.toString(16)}`), undefined);
    assert.notEqual(fail('2001:db8:1:2:ffff::1'), undefined);
    assert.equal(fail('2001:db8:1:3::1'), undefined);
  });

  it('are logged one by one up to the limit, then once a minute', () => {
    const { logged, fail, pass } = createFailures();
    for (let i = 0; i < failuresPerMinuteMax + 100; i++) fail('192.0.2.1');
    const excess = () => logged.filter(({ message }) => message === 'too many failed authentications').length;
    assert.deepEqual([logged.length, excess()], [failuresPerMinuteMax + 1, 1]);
    pass(60_000);
    for (let i = 0; i < failuresPerMinuteMax + 100; i++) fail('192.0.2.1');
    assert.equal(excess(), 2);
  });

  it('of many addresses do not flood the log', () => {
    const { logged, fail } = createFailures();
    for (let i = 0; i < 5_000; i++) fail(`2001:db8:${i.toString(16)}::1`);
    assert.ok(logged.length <= 300, `${logged.length} lines`);
  });
});

describe('networkOf', () => {
  const cases: readonly [address: string, network: string][] = [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['nonsense', 'nonsense'],
  ];
  for (const [address, network] of cases)
    it(`is ${network} for ${address}`, () => assert.equal(networkOf(address), network));
});
