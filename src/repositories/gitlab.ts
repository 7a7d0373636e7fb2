// GitLab, whose repositories are projects in groups that may be nested.
import { numberAt, textAt } from '../text/foreignJson.ts';
import type { JsonObject } from '../text/foreignText.ts';
import { findGitlabTasks } from './gitlabTasks.ts';
import { type CreateProvider, ownFirst, type Page, type PageNumber, pathSegment } from './provider.ts';
import type { AskProvider, ListAnswer } from './requests.ts';
import type { Branch, ListSort, Repository, SearchSort } from './schema.ts';

const groupsMax = 100;

function toRepository(found: JsonObject, ask: AskProvider): Repository {
  const id = numberAt(found, 'id');
  const name = textAt(found, 'path_with_namespace');
  if (id === undefined || name === '') throw ask.malformed();
  return {
    id: String(id),
    full_name: name,
    git_provider: 'gitlab',
    is_public: textAt(found, 'visibility') === 'public',
    stargazers_count: numberAt(found, 'star_count') ?? null,
    pushed_at: textAt(found, 'last_activity_at') || null,
    owner_type: textAt(found, 'namespace', 'kind') === 'group' ? 'organization' : 'user',
    main_branch: textAt(found, 'default_branch') || null,
  };
}

function toBranch(found: JsonObject, ask: AskProvider): Branch {
  const name = textAt(found, 'name');
  if (name === '') throw ask.malformed();
  return {
    name,
    commit_sha: textAt(found, 'commit', 'id'),
    protected: found['protected'] === true,
    last_push_date: textAt(found, 'commit', 'committed_date') || null,
  };
}

/** A number in a header. GitLab leaves it empty if there is no next page, and out if counting takes too long. */
function headerNumber(headers: Headers, name: string): number | null {
  const text = headers.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function toPage<Item>({ headers }: ListAnswer, { page }: PageNumber, items: Item[]): Page<Item> {
  const hasNext =
    headerNumber(headers, 'x-next-page') !== null || /;\s*rel="next"/.test(headers.get('link') ?? '');
  return { items, nextPage: hasNext ? page + 1 : null, total: headerNumber(headers, 'x-total') };
}

const pageQuery = ({ page, perPage }: PageNumber) => ({ page: String(page), per_page: String(perPage) });

const listOrders: Readonly<Record<ListSort, { readonly order_by: string; readonly sort: string }>> = {
  pushed: { order_by: 'last_activity_at', sort: 'desc' },
  updated: { order_by: 'last_activity_at', sort: 'desc' },
  created: { order_by: 'created_at', sort: 'desc' },
  full_name: { order_by: 'path', sort: 'asc' },
};
/** GitLab cannot sort by forks. */
const searchOrders: Readonly<Record<SearchSort, string>> = {
  stars: 'star_count',
  forks: 'star_count',
  updated: 'last_activity_at',
};

const projectOf = (path: string) => `/projects/${encodeURIComponent(path)}`;

async function findUser(ask: AskProvider) {
  const found = await ask.object('/user');
  const [id, login] = [numberAt(found, 'id'), textAt(found, 'username')];
  if (id === undefined || login === '') throw ask.malformed();
  return {
    id: String(id),
    login,
    avatar_url: textAt(found, 'avatar_url'),
    company: textAt(found, 'organization') || null,
    name: textAt(found, 'name') || null,
    email: textAt(found, 'email') || null,
    git_provider: 'gitlab' as const,
  };
}

/** Files on the default branch. */
function filesOf(ask: AskProvider) {
  const ref = 'HEAD';
  return {
    files: async (path: string, folder: string) => {
      const query = { path: folder, ref, per_page: '100' };
      const { items } = await ask.list(`${projectOf(path)}/repository/tree`, query);
      return items
        .filter((one) => textAt(one, 'type') === 'blob')
        .map((one) => ({ name: textAt(one, 'name'), path: `${folder}/${textAt(one, 'name')}` }));
    },
    changedAt: async (path: string, folder: string) => {
      const query = { path: folder, per_page: '1' };
      const { items } = await ask.list(`${projectOf(path)}/repository/commits`, query);
      return textAt(items[0], 'committed_date') || undefined;
    },
    readFile: (path: string, file: string) =>
      ask.text(`${projectOf(path)}/repository/files/${encodeURIComponent(file)}/raw`, { ref }, '*/*'),
  };
}

export const createGitlab: CreateProvider = (ask) => {
  const toRepositories = (items: readonly JsonObject[]) => items.map((one) => toRepository(one, ask));
  const toBranches = (items: readonly JsonObject[]) => items.map((one) => toBranch(one, ask));
  const branchesOf = (path: string, query: Readonly<Record<string, string>>) =>
    ask.list(`${projectOf(path)}/repository/branches`, query);

  return {
    user: () => findUser(ask),
    installations: async () => {
      const query = { min_access_level: '10', per_page: String(groupsMax) };
      const { items } = await ask.list('/groups', query);
      return items.map((one) => textAt(one, 'full_path')).filter((path) => path !== '');
    },
    repositories: async (list) => {
      const { installation, sort } = list;
      const query = { ...pageQuery(list), ...listOrders[sort] };
      const answer =
        installation === undefined
          ? await ask.list('/projects', { ...query, membership: 'true' })
          : await ask.list(`/groups/${pathSegment(installation)}/projects`, {
              ...query,
              include_subgroups: 'true',
            });
      return toPage(answer, list, toRepositories(answer.items));
    },
    search: ({ text, perPage, sort, order }) => {
      const query = {
        search: text.trim(),
        search_namespaces: 'true',
        order_by: searchOrders[sort],
        sort: order,
        per_page: String(perPage),
      };
      const run = async (more: Readonly<Record<string, string>>) =>
        toRepositories((await ask.list('/projects', { ...query, ...more })).items);
      return ownFirst(
        perPage,
        () => run({ membership: 'true' }),
        () => run({}),
      );
    },
    repository: async (path) => toRepository(await ask.object(projectOf(path)), ask),
    branches: async (path, page) => {
      const answer = await branchesOf(path, pageQuery(page));
      return toPage(answer, page, toBranches(answer.items));
    },
    searchBranches: async (path, text, perPage) =>
      toBranches((await branchesOf(path, { search: text, per_page: String(perPage) })).items),
    suggestedTasks: () => findGitlabTasks(ask),
    ...filesOf(ask),
  };
};
