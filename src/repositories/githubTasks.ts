// The work that waits for the user at GitHub: own pull requests that cannot be merged as they are, and assigned issues.
// Whether a comment was resolved is known to its GraphQL API only.
import type { SuggestedTask, TaskType } from '../conversations/create/schema.ts';
import type { GitProvider } from '../git/providers.ts';
import { listOf, numberAt, objectOf, textAt } from '../text/foreignJson.ts';
import { isObject, type JsonObject } from '../text/foreignText.ts';
import type { AskProvider } from './requests.ts';

/** How many tasks of each kind are returned, the most recently updated first. */
const tasksMax = 50;
const threadsMax = 50;

const query = `query($count: Int!, $threads: Int!, $assigned: String!) {
  viewer {
    pullRequests(first: $count, states: OPEN, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        number
        title
        mergeable
        reviewDecision
        repository { nameWithOwner isArchived }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
        reviewThreads(last: $threads) { nodes { isResolved } }
      }
    }
  }
  search(type: ISSUE, first: $count, query: $assigned) {
    nodes { ... on Issue { number title repository { nameWithOwner } } }
  }
}`;
const assigned = 'is:issue is:open archived:false assignee:@me sort:updated-desc';

function taskTypeOf(request: JsonObject): TaskType | undefined {
  if (request['mergeable'] === 'CONFLICTING') return 'MERGE_CONFLICTS';
  const [last] = listOf(objectOf(request['commits'])['nodes']);
  const checks = textAt(last, 'commit', 'statusCheckRollup', 'state');
  if (checks === 'FAILURE' || checks === 'ERROR') return 'FAILING_CHECKS';
  const threads = listOf(objectOf(request['reviewThreads'])['nodes']);
  const isUnresolved = threads.some((thread) => thread['isResolved'] === false);
  return isUnresolved || request['reviewDecision'] === 'CHANGES_REQUESTED'
    ? 'UNRESOLVED_COMMENTS'
    : undefined;
}

/** Nothing for a node that the token may not read, which is null or empty. */
function toTask(node: JsonObject, type: TaskType | undefined, provider: GitProvider): SuggestedTask[] {
  const number = numberAt(node, 'number');
  const repo = textAt(node, 'repository', 'nameWithOwner');
  if (type === undefined || number === undefined || repo === '') return [];
  return [
    { git_provider: provider, task_type: type, repo, issue_number: number, title: textAt(node, 'title') },
  ];
}

export async function findGithubTasks(ask: AskProvider, provider: GitProvider): Promise<SuggestedTask[]> {
  const data = await ask.graphql(query, { count: tasksMax, threads: threadsMax, assigned });
  const requests = objectOf(objectOf(data['viewer'])['pullRequests'])['nodes'];
  const issues = objectOf(data['search'])['nodes'];
  if (!Array.isArray(requests) || !isObject(data['search'])) throw ask.malformed();
  const open = listOf(requests).filter((one) => objectOf(one['repository'])['isArchived'] !== true);
  return [
    ...open.flatMap((one) => toTask(one, taskTypeOf(one), provider)),
    ...listOf(issues).flatMap((one) => toTask(one, 'OPEN_ISSUE', provider)),
  ];
}
