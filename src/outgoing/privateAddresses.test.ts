import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from '../config.ts';
import { createPrivateAddressRule } from './privateAddresses.ts';

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

  it('asks for the users again after a second, and does not remember a failure', async () => {
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
