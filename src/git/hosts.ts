// Where the repositories of each git provider are: the hosts that everybody knows, and those that the operator named.
import { type GitProvider, gitProviders } from './providers.ts';

/** The origins that the operator named. They may be plain http, and on private addresses. */
export type GitHosts = Readonly<Partial<Record<GitProvider, string>>>;

/** Of enterprise_sso every user names a host. */
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

/** Reads `github=http://127.0.0.1:1234,gitlab=https://git.example.com`. Undefined where it has another form. */
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
