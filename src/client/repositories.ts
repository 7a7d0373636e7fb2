// Calls about what the stored access tokens can see at Git providers. They throw `git_token_missing` without one.
import type { CallOptions } from './conversations.ts';
import { type Connection, requestJson } from './request.ts';
import type {
  BranchesFilter,
  BranchPage,
  GitProvider,
  MicroagentContent,
  MicroagentContentQuery,
  MicroagentList,
  MicroagentsQuery,
  RepositoriesFilter,
  RepositoryList,
  RepositoryPage,
  RepositorySearch,
  TaskList,
} from './types.ts';

const base = '/api/repositories';

export function repositoryCalls(connection: Connection) {
  return {
    /** A page of your repositories. */
    list: (filter: RepositoriesFilter = {}, { signal }: CallOptions = {}): Promise<RepositoryPage> =>
      requestJson<RepositoryPage>(connection, base, { query: filter, signal }),
    search: (query: RepositorySearch, { signal }: CallOptions = {}): Promise<RepositoryList> =>
      requestJson<RepositoryList>(connection, `${base}/search`, { query, signal }),
    /** A page of the branches of a repository, or those that match `q`. */
    branches: (filter: BranchesFilter, { signal }: CallOptions = {}): Promise<BranchPage> =>
      requestJson<BranchPage>(connection, `${base}/branches`, { query: filter, signal }),
    /** Open work at one provider, or at all of them. */
    suggestedTasks: (provider?: GitProvider, { signal }: CallOptions = {}): Promise<TaskList> =>
      requestJson<TaskList>(connection, `${base}/suggested-tasks`, { query: { provider }, signal }),
    microagents: (query: MicroagentsQuery, { signal }: CallOptions = {}): Promise<MicroagentList> =>
      requestJson<MicroagentList>(connection, `${base}/microagents`, { query, signal }),
    microagent: (query: MicroagentContentQuery, { signal }: CallOptions = {}): Promise<MicroagentContent> =>
      requestJson<MicroagentContent>(connection, `${base}/microagents/content`, { query, signal }),
  };
}
