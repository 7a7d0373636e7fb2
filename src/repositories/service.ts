// What a user's access tokens can see at Git providers: repositories, branches, microagents, and work that waits.
import { AppError, invalid } from '../errors.ts';
import { apiOf, type ForgeHost } from '../forge/exchange.ts';
import type { GitHosts } from '../git/hosts.ts';
import { type GitProvider, gitProviders } from '../git/providers.ts';
import { findRemote, type KnownHosts, originOf } from '../git/remote.ts';
import { cleanPath, isPath, repositoryUrl } from '../git/repositoryPaths.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { providerTokenKind } from '../secrets/service.ts';
import type { Settings } from '../settings/service.ts';
import { createBitbucket } from './bitbucket.ts';
import { noToken } from './faults.ts';
import { createGithub } from './github.ts';
import { createGitlab } from './gitlab.ts';
import { listMicroagents, readMicroagent } from './microagents.ts';
import {
  type CreateProvider,
  isUnseen,
  type ListRepositories,
  orNone,
  type Page,
  type PageNumber,
  type RepositoryProvider,
  readPages,
  type SearchRepositories,
} from './provider.ts';
import { createProviderRequests, type ProviderTimes, providerTimes } from './requests.ts';
import type {
  Branch,
  GitUser,
  ListSort,
  Microagent,
  MicroagentContent,
  Repository,
  TaskList,
} from './schema.ts';

const createProvider: Readonly<Record<GitProvider, CreateProvider>> = {
  github: createGithub,
  enterprise_sso: createGithub,
  gitlab: createGitlab,
  bitbucket: createBitbucket,
};

const titleCharsMax = 250;

/** The user, until the signal says that nobody waits any more. */
export interface RepositoriesCaller {
  readonly userId: number;
  readonly signal: AbortSignal;
}

/** A repository, and its provider if it is known. */
export interface NamedRepository {
  readonly repository: string;
  readonly provider?: GitProvider | undefined;
}

interface RepositoriesOptions {
  readonly settings: Pick<Settings, 'read' | 'openSecret'>;
  readonly gitHosts: GitHosts;
  readonly allowPrivate: AllowPrivate;
  readonly clock?: Clock;
  readonly times?: Partial<ProviderTimes> | undefined;
}

export type Repositories = ReturnType<typeof createRepositories>;

/** The user's providers, and the time that is left for the request. */
interface Opened {
  readonly stored: readonly GitProvider[];
  readonly hosts: KnownHosts;
  readonly provider: (host: ForgeHost) => Promise<RepositoryProvider>;
}

function hostOf(provider: GitProvider, hosts: KnownHosts): ForgeHost {
  const found = originOf(provider, hosts);
  if (found === undefined)
    throw invalid([{ path: 'provider', message: 'has no valid host; set one together with its token' }]);
  return { provider, ...found };
}

/** The only provider, unless one is named. */
function chosen(stored: readonly GitProvider[], provider: GitProvider | undefined): GitProvider {
  const [only, another] = stored;
  if (provider === undefined && another !== undefined)
    throw invalid([{ path: 'provider', message: 'is required, because you have several access tokens' }]);
  const found = provider ?? only;
  if (found === undefined) throw noToken();
  return found;
}

/** The text may be the URL of a repository. */
async function searchAt(provider: RepositoryProvider, host: ForgeHost, query: SearchRepositories) {
  const url = repositoryUrl(query.text.trim());
  if (url == null) return provider.search(query);
  const path = cleanPath(url.pathname);
  if (url.origin !== host.origin || !isPath(path, host.provider)) return [];
  return orNone(provider.repository(path).then((found) => [found]));
}

export function createRepositories(options: RepositoriesOptions) {
  const { settings, gitHosts, allowPrivate, clock = systemClock } = options;
  const times = { ...providerTimes, ...options.times };
  const openRequests = createProviderRequests({ allowPrivate, clock, times });

  async function open({ userId, signal: gone }: RepositoriesCaller): Promise<Opened> {
    const userHosts = (await settings.read(userId)).provider_tokens_set ?? {};
    const late = AbortSignal.timeout(times.requestMs);
    return {
      stored: gitProviders.filter((provider) => provider in userHosts),
      hosts: { userHosts, gitHosts },
      provider: async (host) => {
        const token = await settings.openSecret(userId, providerTokenKind, host.provider);
        if (token === undefined) throw noToken(host.provider);
        const api = apiOf(host);
        if (api === undefined)
          throw invalid([{ path: 'provider', message: 'has a host whose API is not supported' }]);
        const ask = openRequests({ userId, host, api, token, gone, late });
        return createProvider[host.provider](ask, host.provider);
      },
    };
  }

  async function openOne(caller: RepositoriesCaller, named: GitProvider | undefined) {
    const opened = await open(caller);
    const host = hostOf(chosen(opened.stored, named), opened.hosts);
    return { host, provider: await opened.provider(host) };
  }

  /** Asks each provider for the repository until one has it. */
  async function inRepository<Out>(
    caller: RepositoriesCaller,
    named: NamedRepository,
    work: (provider: RepositoryProvider, path: string, name: GitProvider) => Promise<Out>,
  ): Promise<Out> {
    const { stored, hosts, provider } = await open(caller);
    const candidates = named.provider === undefined ? stored : [named.provider];
    let fault: unknown = candidates.length === 0 ? noToken() : undefined;
    for (const name of candidates) {
      const found = findRemote({ repository: named.repository, provider: name, ...hosts });
      if ('fault' in found) {
        fault ??= new AppError('invalid', found.fault, {
          details: [{ path: 'repository', message: 'is not valid for this provider' }],
        });
        continue;
      }
      const { path, ...host } = found.remote;
      try {
        return await work(await provider({ ...host, path }), path, name);
      } catch (error) {
        if (!isUnseen(error)) throw error;
        fault = error;
      }
    }
    throw fault;
  }

  /** Why the repository cannot be at one of the user's providers, as a sentence. Nobody is asked. */
  async function findFault(
    userId: number,
    named: { readonly repository: string; readonly provider: GitProvider | null },
  ): Promise<string | undefined> {
    const userHosts = (await settings.read(userId)).provider_tokens_set ?? {};
    const found = findRemote({ ...named, userHosts, gitHosts });
    return 'fault' in found ? found.fault : undefined;
  }

  /** The user at the first provider that accepts its token. */
  async function anyUser(caller: RepositoriesCaller): Promise<GitUser> {
    const { stored, hosts, provider } = await open(caller);
    let fault: unknown = noToken();
    for (const name of stored)
      try {
        return await (await provider(hostOf(name, hosts))).user();
      } catch (error) {
        fault = error;
      }
    throw fault;
  }

  /** The result of all providers at once. Throws only if none has one. */
  async function fromAll<Item>(
    caller: RepositoriesCaller,
    named: GitProvider | undefined,
    work: (provider: RepositoryProvider, host: ForgeHost) => Promise<readonly Item[]>,
  ): Promise<{ results: Item[]; errors: TaskList['errors'] }> {
    const { stored, hosts, provider } = await open(caller);
    const names = named === undefined ? stored : [named];
    if (names.length === 0) throw noToken();
    const settled = await Promise.allSettled(
      names.map(async (name) => {
        const host = hostOf(name, hosts);
        return work(await provider(host), host);
      }),
    );
    const errors = settled.flatMap((one, i) => {
      const git_provider = names[i];
      if (one.status === 'fulfilled' || git_provider === undefined) return [];
      if (!(one.reason instanceof AppError)) throw one.reason;
      return [{ git_provider, code: one.reason.code, error: one.reason.message }];
    });
    const [first] = settled;
    if (errors.length === names.length && first?.status === 'rejected') throw first.reason;
    return { results: settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])), errors };
  }

  async function tasks(caller: RepositoriesCaller, provider?: GitProvider): Promise<TaskList> {
    const { results, errors } = await fromAll(caller, provider, (one) => one.suggestedTasks());
    const cut = (title: string) => title.slice(0, titleCharsMax).toWellFormed();
    return { results: results.map((task) => ({ ...task, title: cut(task.title) })), errors };
  }

  /** All repositories of all providers, as far as the limit allows. */
  async function listAll(
    caller: RepositoriesCaller,
    sort: ListSort,
    itemsMax: number,
  ): Promise<Repository[]> {
    const { results } = await fromAll(caller, undefined, (one) =>
      readPages(itemsMax, (page) => one.repositories({ ...page, sort })),
    );
    return results.slice(0, itemsMax);
  }

  return {
    findFault,
    anyUser,
    listAll,
    tasks,
    user: async (caller: RepositoriesCaller, provider: GitProvider): Promise<GitUser> =>
      (await openOne(caller, provider)).provider.user(),
    installations: async (caller: RepositoriesCaller, provider: GitProvider): Promise<string[]> =>
      (await openOne(caller, provider)).provider.installations(),
    list: async (
      caller: RepositoriesCaller,
      provider: GitProvider | undefined,
      list: ListRepositories,
    ): Promise<Page<Repository>> => (await openOne(caller, provider)).provider.repositories(list),
    search: async (
      caller: RepositoriesCaller,
      named: GitProvider | undefined,
      query: SearchRepositories,
    ): Promise<Repository[]> => {
      const { host, provider } = await openOne(caller, named);
      return searchAt(provider, host, query);
    },
    /** Searches at all providers. */
    searchAll: async (caller: RepositoriesCaller, query: SearchRepositories): Promise<Repository[]> =>
      (await fromAll(caller, undefined, (one, host) => searchAt(one, host, query))).results,
    branches: (caller: RepositoriesCaller, named: NamedRepository, page: PageNumber): Promise<Page<Branch>> =>
      inRepository(caller, named, (one, path) => one.branches(path, page)),
    allBranches: (caller: RepositoriesCaller, named: NamedRepository, itemsMax: number): Promise<Branch[]> =>
      inRepository(caller, named, (one, path) => readPages(itemsMax, (page) => one.branches(path, page))),
    searchBranches: (
      caller: RepositoriesCaller,
      named: NamedRepository,
      { text, perPage }: { text: string; perPage: number },
    ): Promise<Branch[]> =>
      inRepository(caller, named, (one, path) => one.searchBranches(path, text, perPage)),
    microagents: (caller: RepositoriesCaller, named: NamedRepository): Promise<Microagent[]> =>
      inRepository(caller, named, (one, path, provider) => listMicroagents(one, { path, provider, clock })),
    microagent: (
      caller: RepositoriesCaller,
      named: NamedRepository,
      file: string,
    ): Promise<MicroagentContent> =>
      inRepository(caller, named, (one, path, provider) => readMicroagent(one, { path, provider, file })),
  };
}
