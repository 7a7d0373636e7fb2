import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../test/support/until.ts';
import { readConfig } from '../config.ts';
import {
  createPrivateAddressRule,
  findPrivateAddressNote,
  watchPrivateAddresses,
} from './privateAddresses.ts';

const alone = async () => true;
const notAlone = async () => false;

describe('the rule for private addresses', () => {
  const cases: readonly [string, Record<string, string>, () => Promise<boolean>, boolean][] = [
    ['allows them to one user on loopback', {}, alone, true],
    ['refuses them once there is a second user', {}, notAlone, false],
    ['refuses them when bound elsewhere', { HOST: '0.0.0.0' }, alone, false],
    ['refuses them behind a public URL', { PARLEY_PUBLIC_URL: 'https://parley.example.com' }, alone, false],
    ['refuses them with 0', { PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' }, alone, false],
    ['allows them with 1', { HOST: '0.0.0.0', PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' }, notAlone, true],
  ];
  for (const [title, env, hasOneUser, expected] of cases)
    it(title, async () => {
      assert.equal(await createPrivateAddressRule({ config: readConfig(env), hasOneUser })(), expected);
    });

  it('allows the hosts that the operator lists, however many users there are', async () => {
    const config = readConfig({ HOST: '0.0.0.0', PARLEY_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1:11434' });
    const rule = createPrivateAddressRule({ config, hasOneUser: notAlone });
    assert.deepEqual(await rule(), [{ range: '127.0.0.1/32', port: 11434 }]);
  });

  it('counts the users again after a second, and does not cache a failure', async () => {
    let time = 0;
    let asked = 0;
    const answers = [new Error('no database'), true, false];
    const hasOneUser = async () => {
      const answer = answers[asked++];
      if (typeof answer === 'boolean') return answer;
      throw answer;
    };
    const rule = createPrivateAddressRule({ config: readConfig({}), hasOneUser, now: () => time });
    await assert.rejects(rule(), /no database/);
    assert.equal(await rule(), true);
    time = 999;
    assert.equal(await rule(), true);
    time = 1_000;
    assert.equal(await rule(), false);
    assert.equal(asked, 3);
  });
});

describe('the note on private addresses for the operator', () => {
  const cases: readonly [Record<string, string>, () => Promise<boolean>, RegExp | undefined][] = [
    [{}, alone, undefined],
    [{}, notAlone, /because there is more than one user\. To allow hosts: PARLEY_ALLOW_PRIVATE_ADDRESSES=/],
    [{ HOST: '0.0.0.0' }, alone, /because the service listens beyond this machine/],
    [{ PARLEY_PUBLIC_URL: 'https://parley.example.com' }, alone, /because the service has a public URL/],
    [{ PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' }, notAlone, undefined],
    [{ PARLEY_ALLOW_PRIVATE_ADDRESSES: 'localhost' }, notAlone, undefined],
  ];
  for (const [env, hasOneUser, expected] of cases)
    it(`is ${expected ?? 'nothing'} with ${JSON.stringify(env)}`, async () => {
      const note = await findPrivateAddressNote({ config: readConfig(env), hasOneUser });
      if (expected === undefined) assert.equal(note, undefined);
      else assert.match(String(note), expected);
    });

  it('appears once, when a second user is created while the service runs', async (t) => {
    const told: string[] = [];
    let asked = 0;
    const watch = (hasOneUser: () => Promise<boolean>) =>
      watchPrivateAddresses({
        config: readConfig({}),
        hasOneUser,
        everyMs: 1,
        onOff: (note) => told.push(note),
        onBackgroundError: assert.fail,
      });
    t.after(watch(async () => ++asked < 3));
    await until('it is told', () => told.length > 0);
    const askedThen = asked;
    let askedOther = 0;
    // Two users from the beginning: the start output has said so.
    t.after(
      watch(async () => {
        askedOther++;
        return false;
      }),
    );
    await until('the other has looked', () => askedOther > 0);
    assert.deepEqual([told.length, asked, askedOther], [1, askedThen, 1]);
  });
});
