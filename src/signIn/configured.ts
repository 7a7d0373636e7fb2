// The sign-in as the operator has configured it.
import type { Config } from '../config.ts';
import { createOutgoingFetch } from '../outgoing/fetch.ts';
import { normalizeIssuer } from './claims.ts';
import { createProvider, providerResponseBytesMax, providerTimeoutMs } from './provider.ts';
import { createSignIn, type SignIn, type SignInOptions } from './service.ts';

/** The page of the web UI that the provider sends people back to. */
export const signInPath = '/sign-in';

export function configuredIssuer({ oidcIssuer }: Config): string | undefined {
  return oidcIssuer === undefined ? undefined : normalizeIssuer(oidcIssuer);
}

/** How long a session lasts without use, and at all. */
export function sessionTimes({ sessionIdleMinutes, sessionHours }: Config) {
  return { idleMs: sessionIdleMinutes * 60_000, lastsMs: sessionHours * 60 * 60_000 };
}

/** Undefined if no provider is configured. Nothing is requested from it yet. */
export function openProvider(config: Config) {
  const { oidcIssuer: issuer, oidcClientId: clientId, publicUrl } = config;
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) return undefined;
  const provider = createProvider({
    issuer,
    clientId,
    clientSecret: config.oidcClientSecret,
    clientAuth: config.oidcClientAuth,
    scopes: config.oidcScopes,
    redirectUri: publicUrl + signInPath,
    // The operator chose the provider, which is often in the private network.
    fetch: createOutgoingFetch({
      allowPrivate: () => true,
      timeoutMs: providerTimeoutMs,
      responseBytesMax: providerResponseBytesMax,
    }),
  });
  return { provider, publicUrl, name: config.oidcName ?? new URL(issuer).host };
}

/** Undefined if no provider is configured. */
export function openSignIn(
  config: Config,
  needs: Pick<SignInOptions, 'database' | 'vault' | 'log' | 'now'>,
): SignIn | undefined {
  const opened = openProvider(config);
  if (opened === undefined) return undefined;
  return createSignIn({
    ...needs,
    ...sessionTimes(config),
    ...opened,
    rules: {
      userClaim: config.oidcUserClaim,
      emailDomains: config.oidcEmailDomains,
      groups: config.oidcGroups,
      groupsClaim: config.oidcGroupsClaim,
      adminGroups: config.oidcAdminGroups,
      adminEmails: config.oidcAdminEmails,
    },
    createsUsers: config.oidcCreateUsers,
  });
}
