// A service whose users sign in with a provider in the same process.
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { type Account, type OidcProvider, startOidcProvider, visit } from './oidcProvider.ts';
import { freePort } from './ports.ts';
import { type Answer, type ServiceOptions, startService, type TestService } from './service.ts';

export interface SignInService {
  readonly service: TestService;
  readonly provider: OidcProvider;
  readonly redirectUri: string;
  /** The options of the service, for a second process. */
  readonly env: Record<string, string>;
  /** Begins a sign-in, as a tab does. */
  begin(): Promise<Begun>;
  finish(begun: Pick<Begun, 'secret'>, query: string): Promise<Answer>;
  /** Signs in as the account. */
  signIn(account: Account): Promise<Answer>;
}

export interface Begun {
  readonly secret: string;
  readonly authorization_url: string;
}

interface Options extends Omit<ServiceOptions, 'kind'> {
  readonly kind?: DatabaseKind;
}

export async function startSignInService(
  options: Options,
  t: { after(fn: () => Promise<void>): void },
): Promise<SignInService> {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const redirectUri = `${publicUrl}/sign-in`;
  const provider = await startOidcProvider(redirectUri, t);
  const env = {
    PORT: String(port),
    PARLEY_PUBLIC_URL: publicUrl,
    PARLEY_OIDC_ISSUER: provider.issuer,
    PARLEY_OIDC_CLIENT_ID: provider.clientId,
    PARLEY_OIDC_CLIENT_SECRET: provider.clientSecret,
    PARLEY_OIDC_NAME: 'Example',
    PARLEY_OIDC_SCOPES: 'openid profile email groups',
    PARLEY_OIDC_CREATE_USERS: '1',
    PARLEY_OIDC_EMAIL_DOMAINS: '*',
    ...options.env,
  };
  const service = await startService({ ...options, env }, t);
  const begin = async () => (await service.ask('/api/sign-in', { method: 'POST', key: null })).body as Begun;
  const finish = (begun: Pick<Begun, 'secret'>, query: string) =>
    service.ask('/api/sign-in/finish', { key: null, json: { secret: begun.secret, query } });
  return {
    service,
    provider,
    redirectUri,
    env,
    begin,
    finish,
    signIn: async (account) => {
      provider.account = account;
      const begun = await begin();
      return finish(begun, await visit(begun.authorization_url, redirectUri));
    },
  };
}
