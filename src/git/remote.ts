// The repository of a conversation. Its name is validated, so that neither git nor a URL can misread a part of it.
import { isIP } from 'node:net';
import { type GitHosts, publicOrigins } from './hosts.ts';
import type { GitProvider } from './providers.ts';
import {
  cleanPath,
  defaultProvider,
  isBare,
  isPath,
  pathExample,
  providersWithPaths,
  repositoryUrl,
} from './repositoryPaths.ts';

/** A repository with its public URL. Only the bridge connects to it. */
export interface GitRemote {
  readonly provider: GitProvider;
  /** Such as `https://github.com`. */
  readonly origin: string;
  /** Such as `owner/name`. */
  readonly path: string;
  readonly url: string;
  /** The operator configured the origin, so it may use plain http and a private address. */
  readonly namedByOperator: boolean;
}

export interface KnownHosts {
  /** The hosts that the user has set, by provider. */
  readonly userHosts: Readonly<Partial<Record<GitProvider, string | null>>>;
  readonly gitHosts: GitHosts;
}

interface RepositoryQuery extends KnownHosts {
  /** `owner/name`, or its https URL. */
  readonly repository: string;
  /** Null for the provider of the URL's host, or GitHub. */
  readonly provider: GitProvider | null;
}

type FoundRemote = { readonly remote: GitRemote } | { readonly fault: string };

/** Where the repositories of a provider are. */
export interface GitOrigin {
  readonly origin: string;
  readonly namedByOperator: boolean;
}

function isHost(host: string): boolean {
  return URL.parse(`https://${host}`)?.host === host.replace(/:443$/, '');
}

/**
 * The user's own host takes precedence. If the operator has configured the same host, the operator's origin is used.
 * Undefined if there is no host, or it is not valid.
 */
export function originOf(provider: GitProvider, { userHosts, gitHosts }: KnownHosts): GitOrigin | undefined {
  const operators = gitHosts[provider];
  const host = userHosts[provider] || undefined;
  if (host !== undefined && (operators === undefined || URL.parse(operators)?.host !== host))
    return isHost(host) ? { origin: `https://${host}`, namedByOperator: false } : undefined;
  if (operators !== undefined) return { origin: operators, namedByOperator: true };
  const origin = publicOrigins[provider];
  return origin === undefined ? undefined : { origin, namedByOperator: false };
}

function remoteAt(provider: GitProvider, origin: GitOrigin, path: string): FoundRemote {
  if (!isPath(path, provider))
    return { fault: `The name of the repository must be of the form ${pathExample(provider)}.` };
  return { remote: { provider, ...origin, path, url: `${origin.origin}/${path}.git` } };
}

function byUrl(url: URL, query: RepositoryQuery): FoundRemote {
  if (!isBare(url))
    return { fault: 'The URL of the repository must not contain a user name, password, query or fragment.' };
  const candidates = query.provider === null ? providersWithPaths : [query.provider];
  for (const provider of candidates) {
    const found = originOf(provider, query);
    if (found?.origin === url.origin) return remoteAt(provider, found, cleanPath(url.pathname));
  }
  return {
    fault: `The URL of the repository is not one of the git provider${query.provider === null ? 's' : ''} in your settings.`,
  };
}

/** Never throws. A `fault` is a sentence for the user. */
export function findRemote(query: RepositoryQuery): FoundRemote {
  const text = query.repository.trim();
  const url = repositoryUrl(text);
  if (url === null) return { fault: 'The repository must be a name, or an https URL.' };
  if (url !== undefined) return byUrl(url, query);
  const provider = query.provider ?? defaultProvider;
  const origin = originOf(provider, query);
  if (origin === undefined)
    return { fault: `No host is set for ${provider}. Set it together with its token.` };
  return remoteAt(provider, origin, cleanPath(text));
}

/** The SSH forms of the URL, which git rewrites to `url`. */
export function sshUrls({ origin, path }: GitRemote): string[] {
  const { hostname } = new URL(origin);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return [];
  return [`git@${hostname}:${path}.git`, `ssh://git@${hostname}/${path}.git`];
}

const branchBytesMax = 244;

/** The rules of `git check-ref-format --branch`, and no name that looks like an option. */
export function isBranchName(name: string): boolean {
  return (
    name !== '' &&
    name !== '@' &&
    name !== 'HEAD' &&
    Buffer.byteLength(name) <= branchBytesMax &&
    name.isWellFormed() &&
    !/^[-/]|[/.]$|\/\/|\.\.|@\{|[\p{Cc} ~^:?*[\\]/u.test(name) &&
    name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
  );
}
