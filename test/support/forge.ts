// The APIs of all git providers on loopback, each with the repository team/app, whose default branch is trunk.
import type { IncomingMessage, RequestListener } from 'node:http';
import type { GitProvider } from '../../src/git/providers.ts';

export interface Proposed {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  readonly base: string;
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
}

export interface FakeForge {
  readonly handle: RequestListener;
  readonly asked: readonly Asked[];
  /** The opened pull requests, numbered from 1. */
  readonly opened: readonly Proposed[];
}

interface ForgeOptions {
  /** The required Authorization header. */
  readonly authorization?: string;
  /** Fails all requests, or only those that open something. */
  readonly fails?: { readonly status: number; readonly json: unknown; readonly reads?: boolean };
}

type Json = Record<string, unknown>;
type Made = Proposed & { readonly number: number };

/** The response format of one provider. */
interface Dialect {
  readonly base: string;
  readonly repository: Json;
  readonly requests: string;
  fromWire(body: Json): Proposed;
  toWire(made: Made, origin: string): Json;
  list(items: readonly Json[]): unknown;
  matches(made: Made, query: URLSearchParams): boolean;
  /** By the path below the repository. */
  readonly threads: Readonly<Record<string, unknown>>;
}

const at = (minute: number) => `2026-01-31T12:0${minute}:00Z`;

const github: Dialect = {
  base: '/api/v3/repos/team/app',
  repository: { default_branch: 'trunk' },
  requests: '/pulls',
  fromWire: ({ title, body, head, base }) => ({ title, body, branch: head, base }) as Proposed,
  toWire: ({ number, branch, base }, origin) => ({
    number,
    html_url: `${origin}/team/app/pull/${number}`,
    head: { ref: branch, repo: { full_name: 'team/app' } },
    base: { ref: base, repo: { full_name: 'team/app' } },
  }),
  list: (items) => items,
  matches: ({ branch, base }, query) =>
    query.get('head') === `team:${branch}` && [null, base].includes(query.get('base')),
  threads: {
    '/issues/7': {
      title: 'It breaks',
      html_url: 'https://git.example/7',
      state: 'open',
      user: { login: 'ada' },
      body: 'Always.',
      comments: 2,
    },
    '/issues/7/comments': [
      { user: { login: 'bob' }, created_at: at(1), body: 'Since when?' },
      { user: { login: 'ada' }, created_at: at(2), body: 'Since May.' },
    ],
    '/pulls/8': {
      title: 'Mend it',
      state: 'open',
      user: { login: 'ada' },
      body: 'It does.',
      comments: 0,
      head: { ref: 'mend' },
      base: { ref: 'trunk' },
    },
    '/issues/8/comments': [],
    '/pulls/8/comments': [
      { user: { login: 'bob' }, created_at: at(3), body: 'Too long.', path: 'src/a.ts', line: 4 },
    ],
    '/pulls/8/reviews': [
      { user: { login: 'bob' }, submitted_at: at(4), body: '' },
      { user: { login: 'eve' }, submitted_at: at(5), body: 'Nearly.' },
    ],
  },
};

const gitlab: Dialect = {
  base: '/api/v4/projects/team%2Fapp',
  repository: { default_branch: 'trunk' },
  requests: '/merge_requests',
  fromWire: ({ title, description, source_branch, target_branch }) =>
    ({ title, body: description, branch: source_branch, base: target_branch }) as Proposed,
  toWire: ({ number, branch, base }, origin) => ({
    iid: number,
    web_url: `${origin}/team/app/-/merge_requests/${number}`,
    source_branch: branch,
    target_branch: base,
    source_project_id: 1,
    target_project_id: 1,
  }),
  list: (items) => items,
  matches: ({ branch, base }, query) =>
    query.get('source_branch') === branch && [null, base].includes(query.get('target_branch')),
  threads: {
    '/issues/7': {
      title: 'It breaks',
      web_url: 'https://git.example/7',
      state: 'opened',
      author: { username: 'ada' },
      description: 'Always.',
    },
    '/issues/7/notes': [
      { author: { username: 'ada' }, created_at: at(2), body: 'Since May.' },
      { author: { username: 'ada' }, created_at: at(1), body: 'added a label', system: true },
      { author: { username: 'bob' }, created_at: at(1), body: 'Since when?' },
    ],
    '/merge_requests/8': {
      title: 'Mend it',
      state: 'opened',
      author: { username: 'ada' },
      description: 'It does.',
      source_branch: 'mend',
      target_branch: 'trunk',
    },
    '/merge_requests/8/notes': [
      { author: { username: 'eve' }, created_at: at(5), body: 'Nearly.' },
      {
        author: { username: 'bob' },
        created_at: at(3),
        body: 'Too long.',
        position: { new_path: 'src/a.ts', new_line: 4 },
        resolvable: true,
        resolved: false,
      },
    ],
  },
};

const branchNamed = (name: string) => ({ branch: { name }, repository: { full_name: 'team/app' } });

const bitbucket: Dialect = {
  base: '/2.0/repositories/team/app',
  repository: { mainbranch: { name: 'trunk' } },
  requests: '/pullrequests',
  fromWire: ({ title, description, source, destination }) => {
    const nameOf = (end: unknown) => (end as ReturnType<typeof branchNamed>).branch.name;
    return { title, body: description, branch: nameOf(source), base: nameOf(destination) } as Proposed;
  },
  toWire: ({ number, branch, base }, origin) => ({
    id: number,
    links: { html: { href: `${origin}/team/app/pull-requests/${number}` } },
    source: branchNamed(branch),
    destination: branchNamed(base),
  }),
  list: (values) => ({ values }),
  matches: ({ branch, base }, query) => {
    const q = query.get('q') ?? '';
    const towards = /destination\.branch\.name = "([^"]*)"/.exec(q)?.[1] ?? base;
    return q.includes(`state = "OPEN" AND source.branch.name = "${branch}"`) && towards === base;
  },
  threads: {
    '/issues/7': {
      title: 'It breaks',
      links: { html: { href: 'https://git.example/7' } },
      state: 'new',
      reporter: { display_name: 'ada' },
      content: { raw: 'Always.' },
    },
    '/issues/7/comments': {
      values: [
        { user: { display_name: 'ada' }, created_on: at(2), content: { raw: 'Since May.' } },
        { user: { display_name: 'bob' }, created_on: at(1), content: { raw: 'Since when?' } },
      ],
    },
    '/pullrequests/8': {
      title: 'Mend it',
      state: 'OPEN',
      author: { display_name: 'ada' },
      description: 'It does.',
      source: branchNamed('mend'),
      destination: branchNamed('trunk'),
    },
    '/pullrequests/8/comments': {
      values: [
        { user: { display_name: 'eve' }, created_on: at(5), content: { raw: 'Nearly.' } },
        { user: { display_name: 'eve' }, created_on: at(4), content: { raw: 'Oh.' }, deleted: true },
        {
          user: { display_name: 'bob' },
          created_on: at(3),
          content: { raw: 'Too long.' },
          inline: { path: 'src/a.ts', to: 4 },
        },
      ],
    },
  },
};

const dialects: Readonly<Record<GitProvider, Dialect>> = {
  github,
  enterprise_sso: github,
  gitlab,
  bitbucket,
};

async function readJson(request: IncomingMessage): Promise<Json> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString()) as Json;
}

export function createFakeForge(provider: GitProvider, options: ForgeOptions = {}): FakeForge {
  const dialect = dialects[provider];
  const asked: Asked[] = [];
  const opened: Made[] = [];

  async function answer(request: IncomingMessage): Promise<[status: number, json: unknown]> {
    const { method = '', url = '', headers } = request;
    asked.push({ method, url, authorization: headers.authorization });
    const { fails, authorization } = options;
    const origin = `http://${headers.host}`;
    const { pathname, searchParams } = new URL(url, origin);
    const rest = pathname.slice(dialect.base.length);
    if (authorization !== undefined && headers.authorization !== authorization)
      return [401, { message: `Bad credentials: ${headers.authorization}` }];
    if (fails !== undefined && (fails.reads || method === 'POST')) return [fails.status, fails.json];
    if (!pathname.startsWith(dialect.base)) return [404, { message: 'Not Found' }];
    if (method === 'POST' && rest === dialect.requests) {
      const made = { ...dialect.fromWire(await readJson(request)), number: opened.length + 1 };
      opened.push(made);
      return [201, dialect.toWire(made, origin)];
    }
    if (rest === '') return [200, dialect.repository];
    if (rest === dialect.requests) {
      const found = opened.filter((made) => dialect.matches(made, searchParams));
      return [200, dialect.list(found.map((made) => dialect.toWire(made, origin)))];
    }
    return rest in dialect.threads ? [200, dialect.threads[rest]] : [404, { message: 'Not Found' }];
  }

  return {
    asked,
    opened,
    handle: (request, response) => {
      void answer(request).then(([status, json]) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json)),
      );
    },
  };
}
