// A real OpenID Connect provider in this process. Whoever comes is signed in as the account that the test has chosen.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Account {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who signs in next. Undefined: they cancel. */
  account: Account | undefined;
  /** Requests are answered with 503. */
  isDown: boolean;
  /** Paths that were requested, such as /token. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** The parts of the provider that are used here; the package has no types. */
interface Interactions {
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  Grant: new (owner: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
}

const clientId = 'parley';
const ttlS = 600;
const scopes = 'openid profile email groups';

function signingKey(): object {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'test' };
}

export async function startOidcProvider(
  redirectUri: string,
  t: { after(fn: () => Promise<void>): void },
): Promise<OidcProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientSecret = randomBytes(24).toString('hex');
  const accounts = new Map<string, Account>();
  // @ts-expect-error: the package has no types
  const { default: Provider } = await import('oidc-provider');
  const provider: Interactions = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    scopes: scopes.split(' '),
    jwks: { keys: [signingKey()] },
    ttl: { AccessToken: ttlS, Grant: ttlS, IdToken: ttlS, Interaction: ttlS, Session: ttlS },
    cookies: { keys: ['of a test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: () => '/interaction' },
    pkce: { required: () => true },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => accounts.get(sub) }),
    loadExistingGrant: async (ctx: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const grant = new provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope(scopes);
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  const started: OidcProvider = {
    issuer,
    clientId,
    clientSecret,
    account: undefined,
    isDown: false,
    requests: [],
    close: async () => {
      server.closeAllConnections();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { account } = started;
    if (account === undefined)
      return provider.interactionFinished(request, response, { error: 'access_denied' });
    accounts.set(account.sub, account);
    return provider.interactionFinished(request, response, { login: { accountId: account.sub } });
  }

  server.on('request', (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    started.requests.push(path);
    if (started.isDown) response.writeHead(503).end();
    else if (path === '/interaction') void signIn(request, response);
    else answer(request, response);
  });
  t.after(started.close);
  return started;
}

/** Follows the redirects of the provider as a browser does, up to the redirect URI. Returns the query of that. */
export async function visit(authorizationUrl: string, redirectUri: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = authorizationUrl;
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null)
      throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
    if (url.startsWith(`${redirectUri}?`)) return new URL(url).search.slice(1);
  }
  throw new Error('the provider redirects for ever');
}
