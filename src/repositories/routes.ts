// GET /api/git-providers/… and /api/repositories/…: what the user's access tokens can see at Git providers.
import type { FastifyRequest } from 'fastify';
import { type ErrorCode, invalid } from '../errors.ts';
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { wholeNumber } from '../validation/schema.ts';
import {
  branchExample,
  gitUserExample,
  microagentContentExample,
  microagentExample,
  repositoryExample,
  taskExample,
} from './examples.ts';
import {
  BranchesQuery,
  BranchPage,
  GitUser,
  InstallationList,
  MicroagentContent,
  MicroagentContentQuery,
  MicroagentList,
  MicroagentsQuery,
  ProviderParams,
  pageMax,
  perPageDefault,
  perPageMax,
  RepositoriesQuery,
  RepositoryList,
  RepositoryPage,
  SearchQuery,
  TaskList,
  TasksQuery,
} from './schema.ts';
import type { Repositories, RepositoriesCaller } from './service.ts';

/** An agent of a conversation could read the same with the same tokens, so these routes grant nothing new. */
const access = needs('conversations:write');
const tags = ['Repositories'];
const errors: readonly ErrorCode[] = [
  'git_token_missing',
  'git_token_refused',
  'not_found',
  'git_provider_rate_limited',
  'git_provider_failed',
  'overloaded',
];

export function callerOf({ principal, response }: FastifyRequest): RepositoriesCaller {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return { userId: principal.userId, signal: gone.signal };
}

function numberOf(text: string | undefined, path: string, fallback: number, max: number): number {
  if (text === undefined) return fallback;
  const number = wholeNumber(text, max);
  if (number === undefined) throw invalid([{ path, message: `must be a whole number from 1 to ${max}` }]);
  return number;
}

interface PageFields {
  readonly page_id?: string;
  readonly per_page?: string;
}

function pageOf({ page_id, per_page }: PageFields) {
  return {
    page: numberOf(page_id, 'page_id', 1, pageMax),
    perPage: numberOf(per_page, 'per_page', perPageDefault, perPageMax),
  };
}

const pageId = (page: number | null) => (page === null ? null : String(page));

function providerRoutes(app: Server, repositories: Repositories): void {
  app.get(
    '/api/git-providers/:provider/user',
    {
      config: { access, document: { errors, responseExamples: { user: gitUserExample } } },
      schema: {
        tags,
        operationId: 'getGitUser',
        summary: 'Read your user at a Git provider',
        description: 'Returns the user that your access token belongs to.',
        params: ProviderParams,
        response: { 200: GitUser },
      },
    },
    (request) => repositories.user(callerOf(request), request.params.provider),
  );

  app.get(
    '/api/git-providers/:provider/installations',
    {
      config: { access, document: { errors, responseExamples: { organizations: { results: ['acme'] } } } },
      schema: {
        tags,
        operationId: 'listGitInstallations',
        summary: 'List what repositories belong to',
        description:
          'Lists installations of a GitHub App, or organizations if your token is a personal one; groups of GitLab; workspaces of Bitbucket. At most 100.',
        params: ProviderParams,
        response: { 200: InstallationList },
      },
    },
    async (request) => ({
      results: await repositories.installations(callerOf(request), request.params.provider),
    }),
  );
}

function listRoutes(app: Server, repositories: Repositories): void {
  app.get(
    '/api/repositories',
    {
      config: {
        access,
        document: {
          errors,
          responseExamples: { page: { results: [repositoryExample], next_page_id: '2' } },
        },
      },
      schema: {
        tags,
        operationId: 'listRepositories',
        summary: 'List your repositories',
        description:
          'Lists the repositories that your access token can see, or those of one installation. Without an installation, a page of Bitbucket has up to `per_page` repositories of each workspace.',
        querystring: RepositoriesQuery,
        response: { 200: RepositoryPage },
      },
    },
    async (request) => {
      const { provider, installation, sort = 'pushed' } = request.query;
      const list = { ...pageOf(request.query), sort, installation };
      const { items, nextPage } = await repositories.list(callerOf(request), provider, list);
      return { results: [...items], next_page_id: pageId(nextPage) };
    },
  );

  app.get(
    '/api/repositories/search',
    {
      config: { access, document: { errors, responseExamples: { found: { results: [repositoryExample] } } } },
      schema: {
        tags,
        operationId: 'searchRepositories',
        summary: 'Search repositories',
        description:
          'Finds repositories by a part of their name, yours before public ones, or the repository of a URL. A provider that cannot sort as requested sorts by its closest order.',
        querystring: SearchQuery,
        response: { 200: RepositoryList },
      },
    },
    async (request) => {
      const { provider, q, sort = 'stars', order = 'desc', per_page } = request.query;
      const perPage = numberOf(per_page, 'per_page', perPageDefault, perPageMax);
      const search = { text: q, sort, order, perPage };
      return { results: await repositories.search(callerOf(request), provider, search) };
    },
  );

  app.get(
    '/api/repositories/branches',
    {
      config: {
        access,
        document: {
          errors,
          responseExamples: { page: { results: [branchExample], next_page_id: null } },
        },
      },
      schema: {
        tags,
        operationId: 'listBranches',
        summary: 'List or search the branches of a repository',
        description:
          'Without `provider`, the first of your providers that has the repository is asked. GitHub says `last_push_date` only in a search.',
        querystring: BranchesQuery,
        response: { 200: BranchPage },
      },
    },
    async (request) => {
      const { provider, repository, q } = request.query;
      const caller = callerOf(request);
      const page = pageOf(request.query);
      if (q !== undefined) {
        const search = { text: q, perPage: page.perPage };
        const found = await repositories.searchBranches(caller, { provider, repository }, search);
        return { results: found, next_page_id: null };
      }
      const { items, nextPage } = await repositories.branches(caller, { provider, repository }, page);
      return { results: [...items], next_page_id: pageId(nextPage) };
    },
  );
}

function workRoutes(app: Server, repositories: Repositories): void {
  app.get(
    '/api/repositories/suggested-tasks',
    {
      config: {
        access,
        document: { errors, responseExamples: { tasks: { results: [taskExample], errors: [] } } },
      },
      schema: {
        tags,
        operationId: 'listSuggestedTasks',
        summary: 'List suggested tasks',
        description:
          'Lists your open pull requests with merge conflicts, failing checks or unresolved comments, and open issues that are assigned to you: the 50 most recently updated ones of each provider. A task can be sent as `suggested_task` of a conversation. Bitbucket has none.',
        querystring: TasksQuery,
        response: { 200: TaskList },
      },
    },
    (request) => repositories.tasks(callerOf(request), request.query.provider),
  );

  app.get(
    '/api/repositories/microagents',
    {
      config: { access, document: { errors, responseExamples: { list: { results: [microagentExample] } } } },
      schema: {
        tags,
        operationId: 'listMicroagents',
        summary: 'List the microagents of a repository',
        description: 'Lists the files in `.openhands/microagents` on the default branch.',
        querystring: MicroagentsQuery,
        response: { 200: MicroagentList },
      },
    },
    async (request) => ({ results: await repositories.microagents(callerOf(request), request.query) }),
  );

  app.get(
    '/api/repositories/microagents/content',
    {
      config: { access, document: { errors, responseExamples: { deploy: microagentContentExample } } },
      schema: {
        tags,
        operationId: 'getMicroagent',
        summary: 'Read a microagent',
        description: 'Returns its text, and the triggers of its front matter.',
        querystring: MicroagentContentQuery,
        response: { 200: MicroagentContent },
      },
    },
    (request) => repositories.microagent(callerOf(request), request.query, request.query.path),
  );
}

export function repositoryRoutes(app: Server, repositories: Repositories): void {
  providerRoutes(app, repositories);
  listRoutes(app, repositories);
  workRoutes(app, repositories);
}
