// The API of GitLab: the user ada, who is a member of the group acme and its subgroup acme/web.
import type { AnswerRequest, ProviderAnswer, ProviderRequest } from '../gitProvider.ts';

const project = (id: number, path: string, stars: number) => ({
  id,
  path_with_namespace: path,
  visibility: id === 4 ? 'public' : 'private',
  star_count: stars,
  last_activity_at: `2026-01-0${id}T00:00:00Z`,
  default_branch: 'trunk',
  namespace: { kind: path.startsWith('acme/') ? 'group' : 'user' },
});

const own = [project(3, 'acme/shop', 2), project(2, 'acme/web/site', 1), project(1, 'ada/notes', 0)];
const popular = project(4, 'world/shop', 9_000);

const branches = ['trunk', 'next', 'fix/a', 'fix/b', 'old'].map((name, i) => ({
  name,
  commit: { id: `c${i}`, committed_date: '2026-01-31T12:00:00Z' },
  protected: i === 0,
}));

function page({ query }: ProviderRequest, items: readonly object[]): ProviderAnswer {
  const size = Number(query.get('per_page') ?? 20);
  const number = Number(query.get('page') ?? 1);
  const isLast = number * size >= items.length;
  return {
    json: items.slice((number - 1) * size, number * size),
    headers: { 'x-next-page': isLast ? '' : String(number + 1), 'x-total': String(items.length) },
  };
}

function projects(asked: ProviderRequest): ProviderAnswer {
  const seen = asked.query.get('membership') === 'true' ? own : [popular, ...own];
  const text = asked.query.get('search') ?? '';
  return page(
    asked,
    seen.filter(({ path_with_namespace: path }) => path.includes(text)),
  );
}

const request = (iid: number, more: object) => ({
  iid: String(iid),
  title: `Request ${iid}`,
  conflicts: false,
  project: { fullPath: 'acme/web/site' },
  headPipeline: null,
  resolvableDiscussionsCount: 2,
  resolvedDiscussionsCount: 2,
  ...more,
});

const tasks = {
  currentUser: {
    authoredMergeRequests: {
      nodes: [
        request(11, { conflicts: true, headPipeline: { status: 'FAILED' } }),
        request(12, { headPipeline: { status: 'FAILED' } }),
        request(13, { resolvedDiscussionsCount: 1, headPipeline: { status: 'SUCCESS' } }),
        request(15, { headPipeline: { status: 'RUNNING' } }),
        null,
      ],
    },
  },
};
const issues = [{ iid: 7, title: 'It breaks', references: { full: 'acme/shop#7' } }];

const site = '/projects/acme%2Fweb%2Fsite';
const tree = [
  { type: 'blob', name: 'deploy.md' },
  { type: 'tree', name: 'more.md' },
];
const microagent = '---\ntriggers: [deploy]\n---\nRun make deploy.\n';

const answers: Readonly<Record<string, AnswerRequest>> = {
  '/user': () => ({
    json: { id: 1, username: 'ada', avatar_url: 'https://x.example/a', name: 'Ada', organization: 'Acme' },
  }),
  '/groups': () => ({ json: [{ full_path: 'acme' }, { full_path: 'acme/web' }] }),
  '/groups/acme%2Fweb/projects': (asked) => page(asked, own.slice(1, 2)),
  '/projects': projects,
  [site]: () => ({ json: own[1] }),
  '/projects/acme%2Fshop': () => ({ json: own[0] }),
  [`${site}/repository/branches`]: (asked) =>
    page(
      asked,
      branches.filter(({ name }) => name.includes(asked.query.get('search') ?? '')),
    ),
  [`${site}/repository/tree`]: ({ query }) =>
    query.get('path') === '.openhands/microagents' ? { json: tree } : undefined,
  [`${site}/repository/commits`]: () => ({ json: [{ committed_date: '2026-01-31T13:00:00.000+01:00' }] }),
  [`${site}/repository/files/.openhands%2Fmicroagents%2Fdeploy.md/raw`]: () => ({ text: microagent }),
  '/issues': ({ query }) => (query.get('scope') === 'assigned_to_me' ? { json: issues } : undefined),
  '/graphql': () => ({ json: { data: tasks } }),
};

export const gitlabAnswers: AnswerRequest = (asked) => answers[asked.path]?.(asked);
