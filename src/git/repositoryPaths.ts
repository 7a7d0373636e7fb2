// The valid paths of repositories at each git provider, for the service and the web UI.
import type { GitProvider } from './providers.ts';

const pathCharsMax = 512;
const segment = /^[A-Za-z0-9_.~-]+$/;

const pathForms: Readonly<Record<GitProvider, { readonly form: RegExp; readonly example: string }>> = {
  github: { form: /^[^/]+\/[^/]+$/, example: 'owner/name' },
  enterprise_sso: { form: /^[^/]+\/[^/]+$/, example: 'owner/name' },
  gitlab: { form: /^[^/]+(\/[^/]+){1,20}$/, example: 'group/name or group/subgroup/name' },
  // A self-hosted server has its repositories below /scm.
  bitbucket: { form: /^(scm\/)?[^/]+\/[^/]+$/, example: 'workspace/name' },
};

export const providersWithPaths = Object.keys(pathForms) as readonly GitProvider[];
/** The provider of a name without a host. */
export const defaultProvider: GitProvider = 'github';

export function pathExample(provider: GitProvider): string {
  return pathForms[provider].example;
}

/** Removes surrounding slashes and `.git`. */
export function cleanPath(text: string): string {
  return text.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
}

/** Expects a clean path. */
export function isPath(path: string, provider: GitProvider): boolean {
  const segments = path.split('/');
  return (
    path.length <= pathCharsMax &&
    pathForms[provider].form.test(path) &&
    segments.every((one) => segment.test(one) && !/^(\.|\.\.|.*\.git)$/i.test(one))
  );
}

/** Undefined if the text is not a URL; null if the URL is not accepted. */
export function repositoryUrl(text: string): URL | null | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return undefined;
  return /^https?:\/\//i.test(text) ? URL.parse(text) : null;
}

/** Without a user name, password, query or fragment. */
export function isBare({ username, password, search, hash }: URL): boolean {
  return username === '' && password === '' && search === '' && hash === '';
}

/** Whether the text may name a repository if no provider is given. It does not check that the repository exists. */
export function mayBeRepository(text: string): boolean {
  const url = repositoryUrl(text.trim());
  if (url === null) return false;
  if (url === undefined) return isPath(cleanPath(text.trim()), defaultProvider);
  return isBare(url) && providersWithPaths.some((provider) => isPath(cleanPath(url.pathname), provider));
}
