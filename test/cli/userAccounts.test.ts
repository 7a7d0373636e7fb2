// `parley users link|accounts|unlink|sign-out`, as a person runs them, on the local database and over HTTP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { mainFile } from '../support/program.ts';
import { startSignInService } from '../support/signIn.ts';
import { until } from '../support/until.ts';

const ada = { sub: 'a-1', email: 'ada@example.com' };

for (const way of ['the local database', 'HTTP'] as const)
  describe(`accounts of users over ${way}`, () => {
    it('are linked, listed, signed out and unlinked', async (t) => {
      const setup = await startSignInService({ env: { PARLEY_OIDC_CREATE_USERS: '0' } }, t);
      const { service, signIn } = setup;
      /** The service is in this process, so that nothing may block it. */
      async function parley(...words: string[]) {
        const http = { PARLEY_URL: service.url, PARLEY_KEY: service.key };
        const local = { PARLEY_DATA_DIR: service.storage.dataDir };
        const child = spawn(process.execPath, [mainFile, 'users', ...words], {
          env: { PATH: process.env['PATH'], ...(way === 'HTTP' ? http : local) },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const [stdout, stderr, [status]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, 'close'),
        ]);
        return { status, stdout, stderr };
      }
      const isRefused = (key: string) =>
        until('the session is refused', async () => (await service.ask('/api/me', { key })).status === 401);

      await service.ask('/api/users', { json: { name: 'ada' } });
      const { issuer } = setup.provider;
      const linked = await parley('link', 'ada', 'a-1', '--issuer', issuer);
      assert.deepEqual([linked.status, linked.stdout], [0, `Linked: a-1 at ${issuer}\n`], linked.stderr);
      const { token } = (await signIn(ada)).body;
      const ended = await parley('sign-out', 'ada');
      assert.deepEqual([ended.status, ended.stdout], [0, 'Ended 1 session.\n'], ended.stderr);
      await isRefused(token);
      const again = (await signIn(ada)).body.token;
      const account = JSON.parse((await parley('accounts', 'ada', '--json')).stdout);
      assert.deepEqual([account.subject, account.email], ['a-1', 'ada@example.com']);
      assert.match((await parley('accounts', 'ada')).stdout, /a-1 +ada@example\.com/);
      assert.equal((await parley('unlink', 'ada', account.id)).status, 0);
      await isRefused(again);
      assert.equal((await signIn(ada)).status, 403);
      for (const words of [
        ['unlink', 'ada', account.id],
        ['sign-out', 'nobody'],
        ['link', 'nobody', 'x', '--issuer', issuer],
      ])
        assert.match((await parley(...words)).stderr, /does not exist|no such account/);
      const issuerless = await parley('link', 'ada', 'a-2');
      assert.equal(issuerless.status === 0, way === 'HTTP');
    });
  });
