// The OpenID Connect provider, through openid-client: discovery, the URL that people are sent to, and the claims that
// come back. Every request to it is bounded, and nothing is requested before somebody signs in.
import type { AuthorizationCodeGrantChecks, ClientAuth, Configuration, CustomFetch } from 'openid-client';
import { AppError } from '../errors.ts';
import type { OutgoingFetch } from '../outgoing/fetch.ts';
import { type Claims, mergeClaims } from './claims.ts';
import { toSignInError } from './providerErrors.ts';

export const providerTimeoutMs = 10_000;
export const providerResponseBytesMax = 1_024 * 1_024;
/** Metadata is read again after this time; if that fails, the old one is used. */
const metadataFreshMs = 60 * 60_000;
/** After a failure, the provider is not asked again for this time. */
const metadataRetryMs = 2_000;
/** More sign-ins at once are refused, so that a slow provider cannot fill the memory. */
const exchangesMax = 64;

type OpenIdClient = typeof import('openid-client');

export interface ProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly clientAuth: 'basic' | 'post';
  readonly scopes: string;
  readonly redirectUri: string;
  readonly fetch: OutgoingFetch;
  readonly now?: () => number;
}

/** What binds an answer of the provider to its request. */
export interface RequestSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

interface Metadata {
  readonly client: OpenIdClient;
  readonly configuration: Configuration;
  readonly at: number;
}

export type Provider = ReturnType<typeof createProvider>;

function busy(): AppError {
  return new AppError('overloaded', 'Too many people are signing in. Try again in a moment.', {
    retryAfterS: 2,
  });
}

export function createProvider(options: ProviderOptions) {
  const { issuer, clientId, clientSecret, redirectUri, now = Date.now } = options;
  const isInsecure = issuer.startsWith('http:');
  const customFetch: CustomFetch = (url, { method, headers, body, signal }) =>
    options.fetch(url, { method, headers, body: (body ?? null) as string, signal: signal ?? null });
  let known: Metadata | undefined;
  let loading: Promise<Metadata> | undefined;
  let failed: { readonly at: number; readonly error: unknown } | undefined;
  let exchanges = 0;

  function clientAuthOf(client: OpenIdClient): ClientAuth {
    if (clientSecret === undefined) return client.None();
    return options.clientAuth === 'post'
      ? client.ClientSecretPost(clientSecret)
      : client.ClientSecretBasic(clientSecret);
  }

  async function discover(): Promise<Metadata> {
    // Loaded on first use, because the service does not need it to start.
    const client = await import('openid-client');
    const configuration = await client.discovery(new URL(issuer), clientId, undefined, clientAuthOf(client), {
      [client.customFetch]: customFetch,
      timeout: providerTimeoutMs / 1_000,
      execute: [client.enableNonRepudiationChecks, ...(isInsecure ? [client.allowInsecureRequests] : [])],
    });
    return { client, configuration, at: now() };
  }

  /** Callers that come during a discovery share its result. */
  async function load(): Promise<Metadata> {
    if (known !== undefined && now() - known.at < metadataFreshMs) return known;
    if (failed !== undefined && now() - failed.at < metadataRetryMs) {
      if (known !== undefined) return known;
      throw failed.error;
    }
    loading ??= discover().finally(() => (loading = undefined));
    try {
      known = await loading;
      failed = undefined;
    } catch (error) {
      failed = { at: now(), error };
      if (known === undefined) throw error;
    }
    return known;
  }

  /** The page opens this URL, so it must not be a script, and not be sent in the clear. */
  function checkedUrl(url: URL): string {
    if (url.protocol === 'https:' || (isInsecure && url.protocol === 'http:')) return url.href;
    throw new AppError('sign_in_provider_failed', 'The sign-in provider names a URL that is not https.');
  }

  async function buildUrl({ state, nonce, codeVerifier }: RequestSecrets): Promise<string> {
    const { client, configuration } = await load();
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: options.scopes,
      response_type: 'code',
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    });
    return checkedUrl(url);
  }

  async function readClaims(answer: URL, { state, nonce, codeVerifier }: RequestSecrets): Promise<Claims> {
    const { client, configuration } = await load();
    const checks: AuthorizationCodeGrantChecks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    };
    const tokens = await client.authorizationCodeGrant(configuration, answer, checks);
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error('the token response has no ID token');
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return mergeClaims(idToken, {});
    // Many providers return e-mail address and groups only here. The subject must be the same.
    return mergeClaims(idToken, await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub));
  }

  return {
    /** Reads the metadata. Throws `sign_in_provider_failed`. */
    check: async (): Promise<void> => {
      await load().catch((error) => {
        throw toSignInError(error);
      });
    },
    /** The URL at which somebody signs in. Throws `sign_in_provider_failed`. */
    authorizationUrl: (secrets: RequestSecrets): Promise<string> =>
      buildUrl(secrets).catch((error) => {
        throw toSignInError(error);
      }),
    /** Verifies the answer of the provider. `query` is what it added to the redirect URI. Throws AppError. */
    exchange: async (query: string, secrets: RequestSecrets): Promise<Claims> => {
      if (exchanges >= exchangesMax) throw busy();
      exchanges += 1;
      const answer = new URL(redirectUri);
      answer.search = query;
      try {
        return await readClaims(answer, secrets);
      } catch (error) {
        throw toSignInError(error);
      } finally {
        exchanges -= 1;
      }
    },
  };
}
