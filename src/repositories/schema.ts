// What a user's access tokens can see at Git providers, in one form for all of them.
import Type from 'typebox';
import { SuggestedTask } from '../conversations/create/schema.ts';
import { gitProviders } from '../git/providers.ts';
import { kib, oneOf, orNull, text, time } from '../validation/schema.ts';

/** How many repositories or branches one page has at most: no provider returns more at once. */
export const perPageMax = 100;
export const perPageDefault = 30;
export const pageMax = 10_000;

export const listSorts = ['pushed', 'updated', 'created', 'full_name'] as const;
export type ListSort = (typeof listSorts)[number];
export const searchSorts = ['stars', 'forks', 'updated'] as const;
export type SearchSort = (typeof searchSorts)[number];
export const orders = ['asc', 'desc'] as const;
export type Order = (typeof orders)[number];

const Provider = oneOf(gitProviders);
const nullableString = (description?: string) =>
  orNull(Type.String(), description === undefined ? {} : { description });

export const GitUser = Type.Object(
  {
    id: Type.String(),
    login: Type.String(),
    avatar_url: Type.String(),
    company: nullableString(),
    name: nullableString(),
    email: nullableString(),
    git_provider: Provider,
  },
  { $id: 'GitUser', additionalProperties: false },
);
export type GitUser = Type.Static<typeof GitUser>;

export const InstallationList = Type.Object(
  {
    results: Type.Array(Type.String(), {
      description: 'Ids of GitHub App installations, or names of organizations, groups or workspaces.',
    }),
  },
  { $id: 'InstallationList', additionalProperties: false },
);

export const Repository = Type.Object(
  {
    id: Type.String(),
    full_name: Type.String({ description: 'Such as `owner/name`; groups of GitLab may be nested.' }),
    git_provider: Provider,
    is_public: Type.Boolean(),
    stargazers_count: orNull(Type.Integer()),
    pushed_at: nullableString('When it was last pushed to, or active. Null if the provider does not say.'),
    owner_type: oneOf(['user', 'organization']),
    main_branch: nullableString('The default branch. Null if the repository is empty.'),
  },
  { $id: 'Repository', additionalProperties: false },
);
export type Repository = Type.Static<typeof Repository>;

const nextPage = nullableString('Send it as `page_id` for the next page. Null on the last page.');

export const RepositoryPage = Type.Object(
  { results: Type.Array(Repository), next_page_id: nextPage },
  { $id: 'RepositoryPage', additionalProperties: false },
);

export const RepositoryList = Type.Object(
  { results: Type.Array(Repository) },
  { $id: 'RepositoryList', additionalProperties: false },
);

export const Branch = Type.Object(
  {
    name: Type.String(),
    commit_sha: Type.String(),
    protected: Type.Boolean(),
    last_push_date: nullableString('The time of its last commit. Null if the provider does not say.'),
  },
  { $id: 'Branch', additionalProperties: false },
);
export type Branch = Type.Static<typeof Branch>;

export const BranchPage = Type.Object(
  { results: Type.Array(Branch), next_page_id: nextPage },
  { $id: 'BranchPage', additionalProperties: false },
);

export const TaskList = Type.Object(
  {
    results: Type.Array(SuggestedTask),
    errors: Type.Array(
      Type.Object(
        { git_provider: Provider, code: Type.String(), error: Type.String() },
        { additionalProperties: false },
      ),
      { description: 'The providers that could not be asked, if others could.' },
    ),
  },
  { $id: 'TaskList', additionalProperties: false },
);
export type TaskList = Type.Static<typeof TaskList>;

export const Microagent = Type.Object(
  {
    name: Type.String(),
    path: Type.String(),
    created_at: time({ description: 'When the folder of the microagents was last changed.' }),
    git_provider: Provider,
  },
  { $id: 'Microagent', additionalProperties: false },
);
export type Microagent = Type.Static<typeof Microagent>;

export const MicroagentList = Type.Object(
  { results: Type.Array(Microagent) },
  { $id: 'MicroagentList', additionalProperties: false },
);

export const MicroagentContent = Type.Object(
  {
    content: Type.String({ description: 'The text without its front matter.' }),
    path: Type.String(),
    triggers: Type.Array(Type.String()),
    git_provider: Provider,
  },
  { $id: 'MicroagentContent', additionalProperties: false },
);
export type MicroagentContent = Type.Static<typeof MicroagentContent>;

const textBytesMax = kib;
/** The longest query that providers take. */
const searchBytesMax = 200;

const provider = Type.Optional(
  oneOf(gitProviders, { description: 'Default: the provider that you have stored an access token for.' }),
);
const repository = text({ bytesMax: textBytesMax, lengthMin: 1, description: 'Such as `owner/name`.' });
const pageFields = {
  page_id: Type.Optional(
    Type.String({ maxLength: 16, description: 'The next_page_id of the previous page.' }),
  ),
  per_page: Type.Optional(
    Type.String({ maxLength: 16, description: `1 to ${perPageMax}. Default: ${perPageDefault}.` }),
  ),
};

export const RepositoriesQuery = Type.Object({
  provider,
  installation: Type.Optional(
    text({ bytesMax: textBytesMax, lengthMin: 1, description: 'One of `installations`.' }),
  ),
  sort: Type.Optional(oneOf(listSorts, { description: 'Default: pushed.' })),
  ...pageFields,
});

export const SearchQuery = Type.Object({
  provider,
  q: text({ bytesMax: searchBytesMax, lengthMin: 1, description: 'Part of the name, or `owner/part`.' }),
  sort: Type.Optional(oneOf(searchSorts, { description: 'Default: stars.' })),
  order: Type.Optional(oneOf(orders, { description: 'Default: desc.' })),
  per_page: pageFields.per_page,
});

export const BranchesQuery = Type.Object({
  provider,
  repository,
  q: Type.Optional(
    text({
      bytesMax: searchBytesMax,
      lengthMin: 1,
      description: 'Part of the name. A search has one page only.',
    }),
  ),
  ...pageFields,
});

export const TasksQuery = Type.Object({
  provider: Type.Optional(
    oneOf(gitProviders, {
      description: 'Default: all providers that you have stored an access token for.',
    }),
  ),
});

export const MicroagentsQuery = Type.Object({ provider, repository });

export const MicroagentContentQuery = Type.Object({
  provider,
  repository,
  path: text({ bytesMax: textBytesMax, lengthMin: 1, description: 'The `path` of a microagent.' }),
});

export const ProviderParams = Type.Object({ provider: Provider });
