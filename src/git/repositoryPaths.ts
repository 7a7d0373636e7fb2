// How the path of a repository may look at each git provider: the same for the service and for the page.
import type { GitProvider } from './providers.ts';

const pathCharsMax = 512;
const segment = /^[A-Za-z0-9_.~-]+$/;

const pathForms: Readonly<Record<GitProvider, { readonly form: RegExp; readonly example: string }>> = {
  github: { form: /^[^/]+\/[^/]+$/, example: 'owner/name' },
  enterprise_sso: { form: /^[^/]+\/[^/]+$/, example: 'owner/name' },
  gitlab: { form: /^[^/]+(\/[^/]+){1,20}$/, example: 'group/name or group/subgroup/name' },
  // A server of one's own has its repositories under /scm.
  bitbucket: { form: /^(scm\/)?[^/]+\/[^/]+$/, example: 'workspace/name' },
};

export const providersWithPaths = Object.keys(pathForms) as readonly GitProvider[];
/** Whose names they are where only a name is given. */
export const usualProvider: GitProvider = 'github';

export function pathExample(provider: GitProvider): string {
  return pathForms[provider].example;
}

/** Without slashes around it and without `.git`. */
export function cleanPath(text: string): string {
  return text.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
}

/** Of a path that is clean. */
export function isPath(path: string, provider: GitProvider): boolean {
  const segments = path.split('/');
  return (
    path.length <= pathCharsMax &&
    pathForms[provider].form.test(path) &&
    segments.every((one) => segment.test(one) && !/^(\.|\.\.|.*\.git)$/i.test(one))
  );
}

/** Undefined where it names itself no URL; null where it is none that is taken. */
export function repositoryUrl(text: string): URL | null | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return undefined;
  return /^https?:\/\//i.test(text) ? URL.parse(text) : null;
}

/** Without a user name, password, query or fragment. */
export function isBare({ username, password, search, hash }: URL): boolean {
  return username === '' && password === '' && search === '' && hash === '';
}

/** Whether it can be one where no provider is named; whether there is one, and at a host that is known, is not told. */
export function mayBeRepository(text: string): boolean {
  const url = repositoryUrl(text.trim());
  if (url === null) return false;
  if (url === undefined) return isPath(cleanPath(text.trim()), usualProvider);
  return isBare(url) && providersWithPaths.some((provider) => isPath(cleanPath(url.pathname), provider));
}
