// The hosts of git providers: the public ones, and those that the operator configured.
import { type GitProvider, gitProviders } from './providers.ts';

/** The origins that the operator configured. They may use plain http and private addresses. */
export type GitHosts = Readonly<Partial<Record<GitProvider, string>>>;

/** There is no public host of enterprise_sso; every user sets one. */
export const publicOrigins: GitHosts = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
};

export const gitHostsForm =
  'must be of the form github=https://git.example.com, without a path, several separated by commas';

function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.origin === text.replace(/\/$/, '').toLowerCase() ? url.origin : undefined;
}

/** Parses `github=http://127.0.0.1:1234,gitlab=https://git.example.com`. Returns undefined if it is not valid. */
export function parseGitHosts(text: string): GitHosts | undefined {
  const hosts: Partial<Record<GitProvider, string>> = {};
  for (const item of text.split(',')) {
    const [name = '', ...rest] = item.trim().split('=');
    const provider = gitProviders.find((known) => known === name);
    const origin = parseOrigin(rest.join('='));
    if (provider === undefined || origin === undefined || provider in hosts) return undefined;
    hosts[provider] = origin;
  }
  return hosts;
}
