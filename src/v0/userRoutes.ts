// /api/user/…: what existing clients ask about Git providers. Each route translates one of src/repositories.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, invalid } from '../errors.ts';
import { type GitProvider, gitProviders } from '../git/providers.ts';
import { needs } from '../http/access.ts';
import { jsonType, sendError } from '../http/errors.ts';
import type { Server } from '../http/routeTable.ts';
import { callerOf } from '../repositories/routes.ts';
import type { Repository } from '../repositories/schema.ts';
import {
  listSorts,
  orders,
  pageMax,
  perPageDefault,
  perPageMax,
  searchSorts,
} from '../repositories/schema.ts';
import type { Repositories } from '../repositories/service.ts';

interface UserServices {
  readonly repositories: Repositories;
}

const access = needs('conversations:write');
/** For lists without pages. */
const itemsMax = 1_000;
const searchPerPage = 5;
const tokenRequired = 'Git provider token required.';

/** These clients expect 401 with a JSON string if a token is missing or refused. */
function sendUserError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const code = error instanceof AppError ? error.code : undefined;
  if (code === 'git_token_missing') reply.code(401).type(jsonType).send(JSON.stringify(tokenRequired));
  else if (code === 'git_token_refused') reply.code(401).type(jsonType).send(JSON.stringify(error.message));
  else sendError(error, request, reply);
}

const route = { config: { access }, schema: { hide: true }, errorHandler: sendUserError } as const;

/** The parameter, or the first one if it was sent several times. Empty counts as absent. */
function textOf({ query }: FastifyRequest, name: string): string | undefined {
  const sent = (query as Readonly<Record<string, unknown>>)[name];
  const [first] = Array.isArray(sent) ? sent : [sent];
  return typeof first === 'string' && first !== '' ? first : undefined;
}

function neededText(request: FastifyRequest, path: string): string {
  const text = textOf(request, path);
  if (text === undefined) throw invalid([{ path, message: 'is required' }]);
  return text;
}

function providerOf(request: FastifyRequest, path: string): GitProvider | undefined {
  const text = textOf(request, path);
  const provider = gitProviders.find((known) => known === text);
  if (text !== undefined && provider === undefined)
    throw invalid([{ path, message: `must be one of ${gitProviders.join(', ')}` }]);
  return provider;
}

/** An unknown value is replaced by the first. */
function oneOf<Value extends string>(
  request: FastifyRequest,
  name: string,
  values: readonly [Value, ...Value[]],
) {
  const text = textOf(request, name);
  return values.find((value) => value === text) ?? values[0];
}

/** A number beyond its bounds is moved to the nearest valid one. */
function numberOf(request: FastifyRequest, name: string, fallback: number, max: number): number {
  const number = Math.trunc(Number(textOf(request, name) ?? fallback));
  return Number.isNaN(number) ? fallback : Math.min(Math.max(number, 1), max);
}

function pageOf(request: FastifyRequest) {
  return {
    page: numberOf(request, 'page', 1, pageMax),
    perPage: numberOf(request, 'per_page', perPageDefault, perPageMax),
  };
}

function toV0Repository(link: string | null) {
  return ({ pushed_at, owner_type, main_branch, ...repository }: Repository) => ({
    ...repository,
    link_header: link,
    pushed_at,
    owner_type,
    main_branch,
  });
}

/** In the form of a Link header, from which clients read the number of the next page. */
function linkTo(page: number | null, perPage: number): string {
  return page === null ? '' : `</api/user/repositories?page=${page}&per_page=${perPage}>; rel="next"`;
}

function accountRoutes(app: Server, { repositories }: UserServices): void {
  app.get('/api/user/info', route, async (request) => {
    const { git_provider: _, ...user } = await repositories.anyUser(callerOf(request));
    return user;
  });

  app.get('/api/user/installations', route, async (request) => {
    const provider = providerOf(request, 'provider');
    if (provider === undefined) throw invalid([{ path: 'provider', message: 'is required' }]);
    return repositories.installations(callerOf(request), provider);
  });

  app.get(
    '/api/user/suggested-tasks',
    route,
    async (request) => (await repositories.tasks(callerOf(request))).results,
  );
}

function repositoryRoutes(app: Server, { repositories }: UserServices): void {
  app.get('/api/user/repositories', route, async (request) => {
    const caller = callerOf(request);
    const sort = oneOf(request, 'sort', listSorts);
    const provider = providerOf(request, 'selected_provider');
    if (provider === undefined)
      return (await repositories.listAll(caller, sort, itemsMax)).map(toV0Repository(null));
    const page = pageOf(request);
    const installation = textOf(request, 'installation_id');
    const { items, nextPage } = await repositories.list(caller, provider, { ...page, sort, installation });
    return items.map(toV0Repository(linkTo(nextPage, page.perPage)));
  });

  app.get('/api/user/search/repositories', route, async (request) => {
    const caller = callerOf(request);
    const provider = providerOf(request, 'selected_provider');
    const search = {
      text: neededText(request, 'query'),
      perPage: numberOf(request, 'per_page', searchPerPage, perPageMax),
      sort: oneOf(request, 'sort', searchSorts),
      order: oneOf(request, 'order', ['desc', ...orders]),
    };
    const found =
      provider === undefined
        ? await repositories.searchAll(caller, search)
        : await repositories.search(caller, provider, search);
    return found.map(toV0Repository(null));
  });
}

function branchRoutes(app: Server, { repositories }: UserServices): void {
  const namedBy = (request: FastifyRequest) => ({
    repository: neededText(request, 'repository'),
    provider: providerOf(request, 'selected_provider'),
  });

  app.get('/api/user/search/branches', route, async (request) =>
    repositories.searchBranches(callerOf(request), namedBy(request), {
      text: neededText(request, 'query'),
      perPage: numberOf(request, 'per_page', perPageDefault, perPageMax),
    }),
  );

  /** Older clients send no page and expect a list, newer ones expect a page. */
  app.get('/api/user/repository/branches', route, async (request) => {
    const caller = callerOf(request);
    const named = namedBy(request);
    if (textOf(request, 'page') === undefined && textOf(request, 'per_page') === undefined)
      return repositories.allBranches(caller, named, itemsMax);
    const { page, perPage } = pageOf(request);
    const { items, nextPage, total } = await repositories.branches(caller, named, { page, perPage });
    return {
      branches: items,
      has_next_page: nextPage !== null,
      current_page: page,
      per_page: perPage,
      total_count: total,
    };
  });
}

/** The name of a repository has slashes, so the rest of the path is read here. */
function microagentRoute(app: Server, { repositories }: UserServices): void {
  app.get('/api/user/repository/*', route, async (request) => {
    const rest = (request.params as Readonly<Record<string, string>>)['*'] ?? '';
    const [, repository, content] = /^(.+)\/microagents(\/content)?\/?$/.exec(rest) ?? [];
    if (repository === undefined) throw new AppError('not_found', 'This path does not exist; see GET /docs.');
    const caller = callerOf(request);
    const named = { repository, provider: providerOf(request, 'selected_provider') };
    if (content === undefined) return repositories.microagents(caller, named);
    return repositories.microagent(caller, named, neededText(request, 'file_path'));
  });
}

export function v0UserRoutes(app: Server, services: UserServices): void {
  accountRoutes(app, services);
  repositoryRoutes(app, services);
  branchRoutes(app, services);
  microagentRoute(app, services);
}
