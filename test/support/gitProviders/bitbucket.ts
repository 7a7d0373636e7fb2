// The API of Bitbucket Cloud: a user in the workspaces acme and ada.
import type { AnswerRequest, ProviderAnswer, ProviderRequest } from '../gitProvider.ts';

const repository = (id: number, full_name: string) => ({
  uuid: `{${id}}`,
  full_name,
  is_private: true,
  updated_on: `2026-01-0${id}T00:00:00Z`,
  mainbranch: { name: 'trunk' },
  owner: { type: full_name.startsWith('acme/') ? 'team' : 'user' },
});

const acme = [repository(3, 'acme/shop'), repository(2, 'acme/site')];
const ada = [repository(1, 'ada/notes')];

const branches = ['trunk', 'next', 'fix/a', 'fix/b', 'old'].map((name, i) => ({
  name,
  target: { hash: `c${i}`, date: '2026-01-31T12:00:00Z' },
}));

function page({ query }: ProviderRequest, items: readonly object[]): ProviderAnswer {
  const size = Number(query.get('pagelen') ?? 10);
  const number = Number(query.get('page') ?? 1);
  if (number > 1 && (number - 1) * size >= items.length) return { status: 404, json: { type: 'error' } };
  const isLast = number * size >= items.length;
  const next = isLast ? {} : { next: `https://api.example/2.0/elsewhere?page=${number + 1}` };
  return { json: { values: items.slice((number - 1) * size, number * size), size: items.length, ...next } };
}

/** The text of a query such as `name ~ "text"`. */
const wordIn = ({ query }: ProviderRequest) => /^name ~ "(.*)"$/.exec(query.get('q') ?? '')?.[1] ?? '';

const repositories = (all: readonly { readonly full_name: string }[]) => (asked: ProviderRequest) =>
  page(
    asked,
    all.filter(({ full_name }) => (full_name.split('/')[1] ?? '').includes(wordIn(asked))),
  );

const shop = '/repositories/acme/shop';
const folder = '.openhands/microagents';

const answers: Readonly<Record<string, AnswerRequest>> = {
  '/user': () => ({
    json: {
      account_id: 'a:1',
      username: 'ada',
      display_name: 'Ada',
      links: { avatar: { href: 'https://x.example/a' } },
    },
  }),
  '/user/workspaces': (asked) =>
    page(asked, [{ workspace: { slug: 'acme' } }, { workspace: { slug: 'ada' } }]),
  '/repositories/acme': repositories(acme),
  '/repositories/ada': repositories(ada),
  [shop]: () => ({ json: acme[0] }),
  [`${shop}/refs/branches`]: (asked) =>
    page(
      asked,
      branches.filter(({ name }) => name.includes(wordIn(asked))),
    ),
  [`${shop}/refs/branches/trunk`]: () => ({ json: branches[0] }),
  [`${shop}/src/c0/${folder}/`]: () => ({
    json: {
      values: [
        { type: 'commit_file', path: `${folder}/deploy.md` },
        { type: 'commit_directory', path: `${folder}/more.md` },
      ],
    },
  }),
  [`${shop}/src/c0/${folder}/deploy.md`]: () => ({ text: 'Run make deploy.\n' }),
  [`${shop}/commits`]: () => ({ json: { values: [{ date: '2026-01-31T12:00:00+00:00' }] } }),
};

export const bitbucketAnswers: AnswerRequest = (asked) => answers[asked.path]?.(asked);
