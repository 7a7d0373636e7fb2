// The search for branches at GitHub. Only its GraphQL API finds a part of a name that is not its start.
import { AppError } from '../errors.ts';
import { listOf, textAt } from '../text/foreignJson.ts';
import { isObject, type JsonObject } from '../text/foreignText.ts';
import type { AskProvider } from './requests.ts';
import type { Branch } from './schema.ts';

const query = `query($owner: String!, $name: String!, $text: String!, $count: Int!) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/", query: $text, first: $count) {
      nodes { name branchProtectionRule { id } target { oid ... on Commit { committedDate } } }
    }
  }
}`;

interface BranchSearch {
  readonly path: string;
  readonly text: string;
  readonly perPage: number;
}

function toBranch(node: JsonObject): Branch {
  return {
    name: textAt(node, 'name'),
    commit_sha: textAt(node, 'target', 'oid'),
    protected: isObject(node['branchProtectionRule']),
    last_push_date: textAt(node, 'target', 'committedDate') || null,
  };
}

export async function searchGithubBranches(
  ask: AskProvider,
  { path, text, perPage }: BranchSearch,
): Promise<Branch[]> {
  const [owner = '', name = ''] = path.split('/');
  const { repository } = await ask.graphql(query, { owner, name, text, count: perPage });
  if (!isObject(repository))
    throw new AppError('not_found', 'The repository does not exist, or your access token may not read it.');
  const { refs } = repository;
  if (!isObject(refs) || !Array.isArray(refs['nodes'])) throw ask.malformed();
  // A node that the token may not read is null.
  return listOf(refs['nodes'])
    .map(toBranch)
    .filter(({ name }) => name !== '')
    .slice(0, perPage);
}
