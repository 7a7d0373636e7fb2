// Bitbucket Cloud, whose repositories are in workspaces. It no longer lists the repositories of all workspaces at once.
import { AppError } from '../errors.ts';
import { numberAt, objectOf, textAt } from '../text/foreignJson.ts';
import type { JsonObject } from '../text/foreignText.ts';
import {
  type CreateProvider,
  type ListRepositories,
  orNone,
  ownFirst,
  type Page,
  type PageNumber,
  pathSegment,
  type SearchRepositories,
} from './provider.ts';
import type { AskProvider, ListAnswer } from './requests.ts';
import type { Branch, ListSort, Repository, SearchSort } from './schema.ts';

const workspacesPerPage = 100;
/** More workspaces are not searched, because each one takes a request. */
const searchedWorkspacesMax = 20;

function toRepository(found: JsonObject, ask: AskProvider): Repository {
  const name = textAt(found, 'full_name');
  if (name === '') throw ask.malformed();
  return {
    id: textAt(found, 'uuid') || name,
    full_name: name,
    git_provider: 'bitbucket',
    is_public: found['is_private'] === false,
    stargazers_count: null,
    pushed_at: textAt(found, 'updated_on') || null,
    // Every repository is in a workspace, which may belong to one person or to many.
    owner_type: textAt(found, 'owner', 'type') === 'user' ? 'user' : 'organization',
    main_branch: textAt(found, 'mainbranch', 'name') || null,
  };
}

function toBranch(found: JsonObject, ask: AskProvider): Branch {
  const name = textAt(found, 'name');
  if (name === '') throw ask.malformed();
  return {
    name,
    commit_sha: textAt(found, 'target', 'hash'),
    // Restrictions of branches are patterns of the repository, which need another permission.
    protected: false,
    last_push_date: textAt(found, 'target', 'date') || null,
  };
}

const pageQuery = ({ page, perPage }: PageNumber) => ({ page: String(page), pagelen: String(perPage) });

function toPage<Item>({ body }: ListAnswer, { page }: PageNumber, items: Item[]): Page<Item> {
  const hasNext = textAt(body, 'next') !== '';
  return { items, nextPage: hasNext ? page + 1 : null, total: numberAt(body, 'size') ?? null };
}

const listSorts: Readonly<Record<ListSort, string>> = {
  pushed: '-updated_on',
  updated: '-updated_on',
  created: '-created_on',
  full_name: 'name',
};
/** Bitbucket has neither stars nor a number of forks to sort by. */
const searchSorts: Readonly<Record<SearchSort, string>> = {
  stars: 'updated_on',
  forks: 'updated_on',
  updated: 'updated_on',
};

/** A string in its query language. */
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

async function workspacesOf(ask: AskProvider): Promise<string[]> {
  const query = { pagelen: String(workspacesPerPage) };
  const { items } = await ask.list('/user/workspaces', query, 'values');
  return items.map((one) => textAt(one, 'workspace', 'slug')).filter((slug) => slug !== '');
}

/** A page beyond the last one of a workspace is empty. */
async function pageOrNone(page: number, asked: Promise<ListAnswer>): Promise<ListAnswer> {
  return asked.catch((error: unknown) => {
    if (page > 1 && error instanceof AppError && error.code === 'not_found')
      return { items: [], headers: new Headers(), body: {} };
    throw error;
  });
}

function repositoriesOf(ask: AskProvider) {
  const toRepositories = (items: readonly JsonObject[]) => items.map((one) => toRepository(one, ask));
  const listIn = (workspace: string, query: Readonly<Record<string, string>>) =>
    ask.list(`/repositories/${pathSegment(workspace)}`, query, 'values');

  async function listWorkspace(workspace: string, list: ListRepositories): Promise<Page<Repository>> {
    const query = { ...pageQuery(list), sort: listSorts[list.sort] };
    const answer = await pageOrNone(list.page, listIn(workspace, query));
    return toPage(answer, list, toRepositories(answer.items));
  }

  /** A page has the repositories of this page of every workspace, so that each comes once. */
  async function listAll(list: ListRepositories): Promise<Page<Repository>> {
    const workspaces = (await workspacesOf(ask)).slice(0, searchedWorkspacesMax);
    const pages = await Promise.all(workspaces.map((one) => listWorkspace(one, list)));
    const items = pages.flatMap((page) => page.items);
    const isLast = pages.every(({ nextPage }) => nextPage === null);
    const byTime = (a: Repository, b: Repository) => ((a.pushed_at ?? '') < (b.pushed_at ?? '') ? 1 : -1);
    const byName = (a: Repository, b: Repository) => (a.full_name < b.full_name ? -1 : 1);
    return {
      items: items.toSorted(list.sort === 'full_name' ? byName : byTime),
      nextPage: isLast ? null : list.page + 1,
      total: null,
    };
  }

  async function searchIn(workspaces: readonly string[], text: string, search: SearchRepositories) {
    const query = {
      q: `name ~ ${quoted(text)}`,
      sort: `${search.order === 'desc' ? '-' : ''}${searchSorts[search.sort]}`,
      pagelen: String(search.perPage),
    };
    const found = await Promise.all(workspaces.map((one) => listIn(one, query)));
    return toRepositories(found.flatMap(({ items }) => items));
  }

  async function search(given: SearchRepositories): Promise<Repository[]> {
    const text = given.text.trim();
    const [, owner, rest = ''] = /^([\w.-]+)\/(.*)$/.exec(text) ?? [];
    if (owner !== undefined) return orNone(searchIn([owner], rest, given));
    const workspaces = (await workspacesOf(ask)).slice(0, searchedWorkspacesMax);
    const named = workspaces.filter((one) => one.toLowerCase().includes(text.toLowerCase()));
    return ownFirst(
      given.perPage,
      () => searchIn(workspaces, text, given),
      () => searchIn(named, '', given),
    );
  }

  return {
    search,
    repositories: (list: ListRepositories) =>
      list.installation === undefined ? listAll(list) : listWorkspace(list.installation, list),
    repository: async (path: string) => toRepository(await ask.object(`/repositories/${path}`), ask),
  };
}

/** Files on the default branch. Their URLs have the id of its commit, because names of branches may have slashes. */
function filesOf(ask: AskProvider) {
  async function sourceOf(path: string): Promise<string> {
    const main = textAt(await ask.object(`/repositories/${path}`), 'mainbranch', 'name');
    if (main === '') throw new AppError('not_found', 'The repository has no default branch.');
    const branch = await ask.object(`/repositories/${path}/refs/branches/${pathSegment(main)}`);
    const commit = textAt(branch, 'target', 'hash');
    if (!/^[\da-f]+$/.test(commit)) throw ask.malformed();
    return `/repositories/${path}/src/${commit}`;
  }
  const encoded = (file: string) => file.split('/').map(pathSegment).join('/');

  return {
    files: async (path: string, folder: string) => {
      const query = { pagelen: '100' };
      const { items } = await ask.list(`${await sourceOf(path)}/${encoded(folder)}/`, query, 'values');
      return items
        .filter((one) => textAt(one, 'type') === 'commit_file')
        .map((one) => textAt(one, 'path'))
        .map((file) => ({ name: file.slice(file.lastIndexOf('/') + 1), path: file }));
    },
    changedAt: async (path: string, folder: string) => {
      const query = { path: folder, pagelen: '1' };
      const { items } = await ask.list(`/repositories/${path}/commits`, query, 'values');
      return textAt(items[0], 'date') || undefined;
    },
    readFile: async (path: string, file: string) =>
      ask.text(`${await sourceOf(path)}/${encoded(file)}`, {}, '*/*'),
  };
}

export const createBitbucket: CreateProvider = (ask) => {
  const toBranches = (items: readonly JsonObject[]) => items.map((one) => toBranch(one, ask));
  const branchesOf = (path: string, query: Readonly<Record<string, string>>) =>
    ask.list(`/repositories/${path}/refs/branches`, { ...query, sort: '-target.date' }, 'values');

  return {
    user: async () => {
      const found = await ask.object('/user');
      const id = textAt(found, 'account_id') || textAt(found, 'uuid');
      if (id === '') throw ask.malformed();
      return {
        id,
        login: textAt(found, 'username') || textAt(found, 'nickname') || id,
        avatar_url: textAt(objectOf(found['links'])['avatar'], 'href'),
        company: null,
        name: textAt(found, 'display_name') || null,
        email: null,
        git_provider: 'bitbucket',
      };
    },
    installations: () => workspacesOf(ask),
    branches: async (path, page) => {
      const answer = await branchesOf(path, pageQuery(page));
      return toPage(answer, page, toBranches(answer.items));
    },
    searchBranches: async (path, text, perPage) => {
      const query = { q: `name ~ ${quoted(text)}`, pagelen: String(perPage) };
      return toBranches((await branchesOf(path, query)).items);
    },
    // Its API says neither which pull requests have conflicts, nor which are the user's in all workspaces.
    suggestedTasks: async () => [],
    ...repositoriesOf(ask),
    ...filesOf(ask),
  };
};
