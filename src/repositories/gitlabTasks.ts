// The work that waits for the user at GitLab: own merge requests that cannot be merged as they are, and assigned issues.
import type { SuggestedTask, TaskType } from '../conversations/create/schema.ts';
import { listOf, numberAt, objectOf, textAt } from '../text/foreignJson.ts';
import type { JsonObject } from '../text/foreignText.ts';
import type { AskProvider } from './requests.ts';

/** How many tasks of each kind are returned, the most recently updated first. */
const tasksMax = 50;

// Lists of the REST API have neither pipelines nor the number of open discussions.
const query = `query($count: Int!) {
  currentUser {
    authoredMergeRequests(state: opened, sort: UPDATED_DESC, first: $count) {
      nodes {
        iid
        title
        conflicts
        project { fullPath }
        headPipeline { status }
        resolvableDiscussionsCount
        resolvedDiscussionsCount
      }
    }
  }
}`;

function taskTypeOf(request: JsonObject): TaskType | undefined {
  if (request['conflicts'] === true) return 'MERGE_CONFLICTS';
  if (textAt(request, 'headPipeline', 'status') === 'FAILED') return 'FAILING_CHECKS';
  const [all, resolved] = ['resolvableDiscussionsCount', 'resolvedDiscussionsCount'].map(
    (name) => numberAt(request, name) ?? 0,
  );
  return (all ?? 0) > (resolved ?? 0) ? 'UNRESOLVED_COMMENTS' : undefined;
}

function toRequestTask(request: JsonObject): SuggestedTask[] {
  const type = taskTypeOf(request);
  // Numbers are text in its GraphQL API.
  const number = Number(textAt(request, 'iid'));
  const repo = textAt(request, 'project', 'fullPath');
  if (type === undefined || !Number.isSafeInteger(number) || number < 1 || repo === '') return [];
  return [
    {
      git_provider: 'gitlab',
      task_type: type,
      repo,
      issue_number: number,
      title: textAt(request, 'title'),
    },
  ];
}

function toIssueTask(issue: JsonObject): SuggestedTask[] {
  const number = numberAt(issue, 'iid');
  const [repo = ''] = textAt(issue, 'references', 'full').split('#');
  if (number === undefined || repo === '') return [];
  return [
    {
      git_provider: 'gitlab',
      task_type: 'OPEN_ISSUE',
      repo,
      issue_number: number,
      title: textAt(issue, 'title'),
    },
  ];
}

export async function findGitlabTasks(ask: AskProvider): Promise<SuggestedTask[]> {
  const assigned = {
    scope: 'assigned_to_me',
    state: 'opened',
    order_by: 'updated_at',
    per_page: String(tasksMax),
  };
  const [data, issues] = await Promise.all([
    ask.graphql(query, { count: tasksMax }),
    ask.list('/issues', assigned),
  ]);
  const requests = objectOf(objectOf(data['currentUser'])['authoredMergeRequests'])['nodes'];
  if (!Array.isArray(requests)) throw ask.malformed();
  return [...listOf(requests).flatMap(toRequestTask), ...issues.items.flatMap(toIssueTask)];
}
