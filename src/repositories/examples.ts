// Responses about repositories that the API docs show.
import type { SuggestedTask } from '../conversations/create/schema.ts';
import type { Branch, GitUser, Microagent, MicroagentContent, Repository } from './schema.ts';

export const gitUserExample: GitUser = {
  id: '583231',
  login: 'ada',
  avatar_url: 'https://avatars.example.com/u/583231',
  company: null,
  name: 'Ada',
  email: null,
  git_provider: 'github',
};

export const repositoryExample: Repository = {
  id: '1296269',
  full_name: 'acme/shop',
  git_provider: 'github',
  is_public: false,
  stargazers_count: 80,
  pushed_at: '2026-01-31T12:00:00Z',
  owner_type: 'organization',
  main_branch: 'main',
};

export const branchExample: Branch = {
  name: 'main',
  commit_sha: 'c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc',
  protected: true,
  last_push_date: '2026-01-31T12:00:00Z',
};

export const taskExample: SuggestedTask = {
  git_provider: 'github',
  task_type: 'FAILING_CHECKS',
  repo: 'acme/shop',
  issue_number: 8,
  title: 'Add a health check',
};

export const microagentExample: Microagent = {
  name: 'deploy',
  path: '.openhands/microagents/deploy.md',
  created_at: '2026-01-31T12:00:00.000Z',
  git_provider: 'github',
};

export const microagentContentExample: MicroagentContent = {
  content: 'Run `make deploy`.',
  path: '.openhands/microagents/deploy.md',
  triggers: ['deploy'],
  git_provider: 'github',
};
