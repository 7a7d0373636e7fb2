// GitHub and GitHub Enterprise, which have the same API.
import type { GitProvider } from '../git/providers.ts';
import { numberAt, textAt } from '../text/foreignJson.ts';
import type { JsonObject } from '../text/foreignText.ts';
import { searchGithubBranches } from './githubBranches.ts';
import { findGithubTasks } from './githubTasks.ts';
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
import type { Branch, Repository } from './schema.ts';

/** GitHub refuses longer search queries. */
const queryCharsMax = 256;
const organizationsMax = 100;

function toRepository(found: JsonObject, provider: GitProvider, ask: AskProvider): Repository {
  const id = numberAt(found, 'id');
  const name = textAt(found, 'full_name');
  if (id === undefined || name === '') throw ask.malformed();
  return {
    id: String(id),
    full_name: name,
    git_provider: provider,
    is_public: found['private'] === false,
    stargazers_count: numberAt(found, 'stargazers_count') ?? null,
    pushed_at: textAt(found, 'pushed_at') || null,
    owner_type: textAt(found, 'owner', 'type') === 'Organization' ? 'organization' : 'user',
    main_branch: textAt(found, 'default_branch') || null,
  };
}

function toBranch(found: JsonObject, ask: AskProvider): Branch {
  const name = textAt(found, 'name');
  if (name === '') throw ask.malformed();
  return {
    name,
    commit_sha: textAt(found, 'commit', 'sha'),
    protected: found['protected'] === true,
    last_push_date: null,
  };
}

const pageQuery = ({ page, perPage }: PageNumber) => ({ page: String(page), per_page: String(perPage) });

function toPage<Item>({ headers, body }: ListAnswer, { page }: PageNumber, items: Item[]): Page<Item> {
  const hasNext = /;\s*rel="next"/.test(headers.get('link') ?? '');
  return { items, nextPage: hasNext ? page + 1 : null, total: numberAt(body, 'total_count') ?? null };
}

async function organizationsOf(ask: AskProvider): Promise<string[]> {
  const { items } = await ask.list('/user/orgs', { per_page: String(organizationsMax) });
  return items.map((one) => textAt(one, 'login')).filter((login) => login !== '');
}

/** Only tokens of a GitHub App see installations; others see organizations. */
async function installationsOf(ask: AskProvider): Promise<string[]> {
  const query = { per_page: String(organizationsMax) };
  const installed = ask
    .list('/user/installations', query, 'installations')
    .then(({ items }) => items.flatMap((one) => numberAt(one, 'id') ?? []).map(String));
  const ids = await orNone(installed);
  return ids.length > 0 ? ids : organizationsOf(ask);
}

async function listRepositories(ask: AskProvider, list: ListRepositories): Promise<ListAnswer> {
  const { installation, sort } = list;
  const query = pageQuery(list);
  if (installation === undefined) return ask.list('/user/repos', { ...query, sort });
  // Ids of installations are numbers; everything else is the name of an organization.
  if (/^\d+$/.test(installation))
    return ask.list(`/user/installations/${installation}/repositories`, query, 'repositories');
  return ask.list(`/orgs/${pathSegment(installation)}/repos`, { ...query, sort });
}

/** The words of a search without the operators of its language. */
const plainWords = (text: string) => text.replaceAll(/[\s:"()<>=*]+/g, ' ').trim();

/** The qualifiers that fit, joined; GitHub searches in all of them. */
function withOwners(query: string, owners: readonly string[]): string {
  return owners.reduce((whole, owner) => {
    const longer = `${whole} user:${owner}`;
    return longer.length <= queryCharsMax ? longer : whole;
  }, query);
}

interface Search {
  readonly ask: AskProvider;
  readonly login: () => Promise<string>;
  readonly run: (q: string) => Promise<Repository[]>;
}

async function searchRepositories({ ask, login, run }: Search, search: SearchRepositories) {
  const { text, perPage } = search;
  const [, owner, rest = ''] = /^([\w.-]+)\/(.*)$/.exec(text.trim()) ?? [];
  if (owner !== undefined) return orNone(run(`${plainWords(rest)} in:name fork:true user:${owner}`.trim()));
  const words = plainWords(text);
  if (words === '') return [];
  const query = `${words} in:name fork:true`;
  const own = async () => run(withOwners(query, [await login(), ...(await orNone(organizationsOf(ask)))]));
  return ownFirst(perPage, own, () => run(query));
}

const rawFile = 'application/vnd.github.raw+json';

export const createGithub: CreateProvider = (ask, provider) => {
  const toRepositories = (items: readonly JsonObject[]) =>
    items.map((one) => toRepository(one, provider, ask));
  const contents = (path: string, file: string) =>
    `/repos/${path}/contents/${file.split('/').map(pathSegment).join('/')}`;

  async function user() {
    const found = await ask.object('/user');
    const [id, login] = [numberAt(found, 'id'), textAt(found, 'login')];
    if (id === undefined || login === '') throw ask.malformed();
    return {
      id: String(id),
      login,
      avatar_url: textAt(found, 'avatar_url'),
      company: textAt(found, 'company') || null,
      name: textAt(found, 'name') || null,
      email: textAt(found, 'email') || null,
      git_provider: provider,
    };
  }

  return {
    user,
    installations: () => installationsOf(ask),
    repositories: async (list) => {
      const answer = await listRepositories(ask, list);
      return toPage(answer, list, toRepositories(answer.items));
    },
    search: (search) => {
      const { sort, order, perPage } = search;
      const run = async (q: string) => {
        const query = { q, sort, order, per_page: String(perPage) };
        return toRepositories((await ask.list('/search/repositories', query, 'items')).items);
      };
      return searchRepositories({ ask, login: async () => (await user()).login, run }, search);
    },
    repository: async (path) => toRepository(await ask.object(`/repos/${path}`), provider, ask),
    branches: async (path, page) => {
      const answer = await ask.list(`/repos/${path}/branches`, pageQuery(page));
      return toPage(
        answer,
        page,
        answer.items.map((one) => toBranch(one, ask)),
      );
    },
    searchBranches: (path, text, perPage) => searchGithubBranches(ask, { path, text, perPage }),
    suggestedTasks: () => findGithubTasks(ask, provider),
    files: async (path, folder) => {
      const { items } = await ask.list(contents(path, folder));
      return items
        .filter((one) => textAt(one, 'type') === 'file')
        .map((one) => ({ name: textAt(one, 'name'), path: `${folder}/${textAt(one, 'name')}` }));
    },
    changedAt: async (path, folder) => {
      const { items } = await ask.list(`/repos/${path}/commits`, { path: folder, per_page: '1' });
      return textAt(items[0], 'commit', 'committer', 'date') || undefined;
    },
    readFile: (path, file) => ask.text(contents(path, file), {}, rawFile),
  };
};
