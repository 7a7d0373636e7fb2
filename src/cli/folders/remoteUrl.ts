// Translates the URL of a git remote to what the API takes as a repository. Credentials in it stay on this machine.
import { publicOrigins } from '../../git/hosts.ts';
import { type GitProvider, gitProviders } from '../../git/providers.ts';
import { cleanPath, mayBeRepository } from '../../git/repositoryPaths.ts';

export interface Repository {
  /** An http or https URL without credentials, because the same name may exist on several hosts. */
  readonly repository: string;
  /** Undefined if only the service can know it. */
  readonly git_provider: GitProvider | undefined;
}

/** `git@host:owner/name`, unless it is a path of Windows. */
const scpForm = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]{2,}|\[[0-9a-f:]+\]):(?!\/\/)\/?(.+)$/i;
/** Hosts that serve SSH under another name. */
const sshAliases: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
};

function overHttps(host: string, path: string): string {
  return `https://${sshAliases[host.toLowerCase()] ?? host}/${path}`;
}

/** As http or https; undefined for a path of this machine or another protocol. */
function webUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  if (url !== null && /^(ssh|git|git\+ssh):$/.test(url.protocol) && url.hostname !== '')
    return URL.parse(overHttps(url.hostname, url.pathname.replace(/^\/+/, ''))) ?? undefined;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return undefined;
  const [, host, path] = scpForm.exec(text) ?? [];
  return host === undefined || path === undefined
    ? undefined
    : (URL.parse(overHttps(host, path)) ?? undefined);
}

/** Undefined if no service could clone from there, such as a folder of this machine. */
export function repositoryOf(remoteUrl: string): Repository | undefined {
  const url = webUrl(remoteUrl.trim());
  if (url === undefined) return undefined;
  const repository = `${url.origin}/${cleanPath(url.pathname)}`;
  if (!mayBeRepository(repository)) return undefined;
  return { repository, git_provider: gitProviders.find((name) => publicOrigins[name] === url.origin) };
}
