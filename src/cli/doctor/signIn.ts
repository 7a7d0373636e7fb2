// Checks that the sign-in provider answers. Only a sign-in shows whether it accepts the client and the redirect URI.
import type { Config } from '../../config.ts';
import { openProvider, signInPath } from '../../signIn/configured.ts';
import { type Finding, ok, wrong } from './finding.ts';

/** Nothing if no provider is configured, as far as the environment of this command says. */
export async function checkSignIn(config: Config): Promise<Finding[]> {
  const opened = openProvider(config);
  if (opened === undefined) return [];
  const redirectUri = opened.publicUrl + signInPath;
  try {
    await opened.provider.check();
    return [ok('sign-in', `${opened.name} answers. It must know the redirect URI ${redirectUri}.`)];
  } catch (error) {
    const { cause } = error as Error;
    const why = cause instanceof Error ? ` (${cause.message.replace(/\.$/, '')})` : '';
    return [
      wrong(
        'sign-in',
        `${opened.name} does not answer as an OpenID Connect provider${why}.`,
        'Check PARLEY_OIDC_ISSUER: its /.well-known/openid-configuration must be reachable from here and name the same issuer.',
      ),
    ];
  }
}
