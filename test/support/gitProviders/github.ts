// The API of GitHub: the user ada, who is a member of acme.
import type { AnswerRequest, ProviderAnswer, ProviderRequest } from '../gitProvider.ts';

const repository = (id: number, full_name: string, stars: number) => ({
  id,
  full_name,
  private: id !== 4,
  stargazers_count: stars,
  pushed_at: `2026-01-0${id}T00:00:00Z`,
  default_branch: 'trunk',
  owner: { type: full_name.startsWith('acme/') ? 'Organization' : 'User' },
});

const own = [repository(3, 'acme/shop', 2), repository(2, 'acme/site', 1), repository(1, 'ada/notes', 0)];
const popular = repository(4, 'world/shop', 9_000);

const branches = ['trunk', 'next', 'fix/a', 'fix/b', 'old'].map((name, i) => ({
  name,
  commit: { sha: `c${i}` },
  protected: i === 0,
}));

/** A page, with the Link header if there is another one. */
function page({ path, query }: ProviderRequest, items: readonly object[], field?: string): ProviderAnswer {
  const size = Number(query.get('per_page') ?? 30);
  const number = Number(query.get('page') ?? 1);
  const part = items.slice((number - 1) * size, number * size);
  const isLast = number * size >= items.length;
  const link = `<https://api.example${path}?page=${number + 1}>; rel="next", <https://api.example${path}?page=9>; rel="last"`;
  return {
    json: field === undefined ? part : { total_count: items.length, [field]: part },
    headers: isLast ? {} : { link },
  };
}

function search(request: ProviderRequest): ProviderAnswer {
  const q = request.query.get('q') ?? '';
  const owners = [...q.matchAll(/user:(\S+)/g)].map(([, owner = '']) => owner);
  if (owners.includes('nobody')) return { status: 422, json: { message: 'Validation Failed' } };
  const [word = ''] = q.split(' ');
  const found = [popular, ...own].filter(({ full_name }) => {
    const [owner = '', name = ''] = full_name.split('/');
    return name.includes(word) && (owners.length === 0 || owners.includes(owner));
  });
  return page(request, found, 'items');
}

const thread = (isResolved: boolean) => ({ nodes: [{ isResolved }] });
const checks = (state: string | null) => ({
  nodes: [{ commit: { statusCheckRollup: state === null ? null : { state } } }],
});
const request = (number: number, more: object) => ({
  number,
  title: `Request ${number}`,
  mergeable: 'MERGEABLE',
  reviewDecision: null,
  repository: { nameWithOwner: 'acme/shop', isArchived: false },
  commits: checks(null),
  reviewThreads: { nodes: [] },
  ...more,
});

const tasks = {
  viewer: {
    pullRequests: {
      nodes: [
        request(11, { mergeable: 'CONFLICTING', commits: checks('FAILURE') }),
        request(12, { commits: checks('FAILURE') }),
        request(13, { reviewThreads: thread(false), commits: checks('SUCCESS') }),
        request(14, { reviewDecision: 'CHANGES_REQUESTED' }),
        request(15, { reviewThreads: thread(true), commits: checks('PENDING') }),
        request(16, { mergeable: 'CONFLICTING', repository: { nameWithOwner: 'a/b', isArchived: true } }),
        null,
      ],
    },
  },
  search: { nodes: [{ number: 7, title: 'It breaks', repository: { nameWithOwner: 'acme/site' } }, {}] },
};

function graphql({ json }: ProviderRequest): ProviderAnswer {
  if (/viewer/.test(json.query)) return { json: { data: tasks } };
  const { owner, name, text, count } = json.variables;
  if (`${owner}/${name}` !== 'acme/shop')
    return { json: { data: { repository: null }, errors: [{ type: 'NOT_FOUND', path: ['repository'] }] } };
  const nodes = branches
    .filter((branch) => branch.name.includes(text))
    .slice(0, count)
    .map((branch) => ({
      name: branch.name,
      branchProtectionRule: branch.protected ? { id: 'x' } : null,
      target: { oid: branch.commit.sha, committedDate: '2026-01-31T12:00:00Z' },
    }));
  return { json: { data: { repository: { refs: { nodes } } } } };
}

const folder = '/repos/acme/shop/contents/.openhands/microagents';
const microagent = '---\ntriggers:\n- deploy\n---\nRun make deploy.\n';

const answers: Readonly<Record<string, AnswerRequest>> = {
  '/user': () => ({
    json: { id: 1, login: 'ada', avatar_url: 'https://x.example/a', name: 'Ada', email: null },
  }),
  '/user/orgs': () => ({ json: [{ login: 'acme' }] }),
  '/user/installations': () => ({
    status: 403,
    json: { message: 'You must authenticate with an app token' },
  }),
  '/user/installations/7/repositories': (asked) => page(asked, own.slice(0, 1), 'repositories'),
  '/user/repos': (asked) => page(asked, own),
  '/orgs/acme/repos': (asked) => page(asked, own.slice(0, 2)),
  '/search/repositories': search,
  '/repos/acme/shop': () => ({ json: own[0] }),
  '/repos/acme/site': () => ({ json: own[1] }),
  '/repos/acme/shop/branches': (asked) => page(asked, branches),
  '/repos/acme/shop/commits': () => ({ json: [{ commit: { committer: { date: '2026-01-31T12:00:00Z' } } }] }),
  [folder]: () => ({
    json: [
      { type: 'file', name: 'deploy.md' },
      { type: 'file', name: 'notes.txt' },
      { type: 'dir', name: 'more.md' },
    ],
  }),
  [`${folder}/deploy.md`]: () => ({ text: microagent }),
  '/graphql': graphql,
};

export const githubAnswers: AnswerRequest = (asked) => answers[asked.path]?.(asked);
