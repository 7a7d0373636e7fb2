import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { startOidcProvider } from '../../test/support/oidcProvider.ts';
import { AppError } from '../errors.ts';
import { createOutgoingFetch } from '../outgoing/fetch.ts';
import { createProvider, providerResponseBytesMax } from './provider.ts';

const redirectUri = 'http://127.0.0.1:3000/sign-in';
const secrets = { state: 's'.repeat(43), nonce: 'n'.repeat(43), codeVerifier: 'v'.repeat(43) };

function open(issuer: string, now: () => number = Date.now, timeoutMs = 60_000) {
  return createProvider({
    issuer,
    clientId: 'parley',
    clientSecret: 'secret',
    clientAuth: 'basic',
    scopes: 'openid',
    redirectUri,
    fetch: createOutgoingFetch({
      allowPrivate: () => true,
      timeoutMs,
      responseBytesMax: providerResponseBytesMax,
    }),
    now,
  });
}

/** A provider that answers every request with the same metadata. */
async function startFake(t: TestContext, metadata: (issuer: string) => string): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(metadata(issuer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => server.close());
  return issuer;
}

const isProviderFailure = (error: unknown) =>
  error instanceof AppError && error.code === 'sign_in_provider_failed';

describe('the metadata of a provider', () => {
  it('is read once for many sign-ins, again after an hour, and kept if that fails', async (t) => {
    const fake = await startOidcProvider(redirectUri, t);
    let at = 0;
    const provider = open(fake.issuer, () => at);
    assert.equal(fake.requests.length, 0);
    await Promise.all([1, 2, 3].map(() => provider.authorizationUrl(secrets)));
    await provider.authorizationUrl(secrets);
    assert.deepEqual(fake.requests, ['/.well-known/openid-configuration']);
    at += 3_600_000;
    fake.isDown = true;
    await provider.authorizationUrl(secrets);
    await provider.authorizationUrl(secrets);
    assert.equal(fake.requests.length, 2);
    at += 2_000;
    fake.isDown = false;
    await provider.authorizationUrl(secrets);
    await provider.authorizationUrl(secrets);
    assert.equal(fake.requests.length, 3);
  });

  it('is asked for again soon after a failure, but not for each sign-in', async (t) => {
    const fake = await startOidcProvider(redirectUri, t);
    let at = 0;
    const provider = open(fake.issuer, () => at);
    fake.isDown = true;
    await assert.rejects(provider.authorizationUrl(secrets), isProviderFailure);
    fake.isDown = false;
    await assert.rejects(provider.authorizationUrl(secrets), isProviderFailure);
    assert.equal(fake.requests.length, 1);
    at += 2_000;
    assert.match(await provider.authorizationUrl(secrets), /^http:/);
  });

  it('is refused if it is of another issuer, too large, no JSON, or names a script to open', async (t) => {
    const metadata = (issuer: string, changes: object = {}) =>
      JSON.stringify({ issuer, authorization_endpoint: `${issuer}/auth`, ...changes });
    const bad: ((issuer: string) => string)[] = [
      () => metadata('https://evil.example'),
      (issuer) => metadata(issuer, { x: 'x'.repeat(providerResponseBytesMax) }),
      () => '<html>',
      (issuer) => metadata(issuer, { authorization_endpoint: 'javascript:alert(1)//' }),
      (issuer) => metadata(issuer, { authorization_endpoint: 'not a URL' }),
    ];
    for (const text of bad)
      await assert.rejects(open(await startFake(t, text)).authorizationUrl(secrets), isProviderFailure);
    assert.ok(await open(await startFake(t, metadata)).authorizationUrl(secrets));
  });

  it('is not waited for without end', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const provider = open(`http://127.0.0.1:${port}`, Date.now, 1_000);
    await assert.rejects(provider.authorizationUrl(secrets), isProviderFailure);
  });
});
