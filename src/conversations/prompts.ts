// The first message that a suggested task or a wish for a microagent stands for, in the words of its provider.
import type { GitProvider } from '../providers.ts';
import type { CreateMicroagent, SuggestedTask, TaskType } from './schema.ts';

interface Terms {
  readonly request: string;
  readonly short: string;
  readonly checks: string;
}

const pullRequest: Terms = { request: 'pull request', short: 'PR', checks: 'checks' };
const terms: Readonly<Record<GitProvider, Terms>> = {
  github: { ...pullRequest, checks: 'GitHub Actions checks' },
  gitlab: { request: 'merge request', short: 'MR', checks: 'CI pipelines' },
  bitbucket: { ...pullRequest, checks: 'Bitbucket pipelines' },
  enterprise_sso: pullRequest,
};

type Prompt = (task: SuggestedTask, terms: Terms) => string;

const prompts: Readonly<Record<TaskType, Prompt>> = {
  MERGE_CONFLICTS: ({ repo, issue_number }, { request, short }) =>
    `The ${request} #${issue_number} of ${repo} cannot be merged because of conflicts. Check out its branch, bring in the target branch, and resolve each conflict so that the intent of both sides is kept. Build and test, then push the branch, so that the ${short} can be merged. Do not rewrite commits that others may have.`,
  FAILING_CHECKS: ({ repo, issue_number }, { request, short, checks }) =>
    `The ${checks} of ${request} #${issue_number} in ${repo} fail. Find out which fail and why, reproduce them here where you can, and mend the cause rather than the check. Push to the ${short}'s branch once they pass locally.`,
  UNRESOLVED_COMMENTS: ({ repo, issue_number }, { request, short }) =>
    `The ${request} #${issue_number} of ${repo} has review comments that nobody has resolved. Read each one with the code that it is about, make the change that it asks for, and push to the ${short}'s branch. Where you disagree or a question needs a person, say so instead of changing the code.`,
  OPEN_ISSUE: ({ repo, issue_number }, { request }) =>
    `Work on issue #${issue_number} of ${repo}. Read the issue and its discussion, find the code that it concerns, and mend it with the smallest change that does so fully, with tests. Put the work on a branch of its own, push it, and open a ${request} that refers to the issue.`,
  OPEN_PR: ({ repo, issue_number }, { request, short }) =>
    `Carry on with ${request} #${issue_number} of ${repo}. Read its description, discussion and changes, find what is missing before it can be merged, finish that, and push to the ${short}'s branch. Say at the end what you did and what is left for a person.`,
  CREATE_MICROAGENT: ({ repo, title }, { request }) => microagent(repo, title, request),
};

function microagent(repo: string, title: string | null | undefined, request: string): string {
  const about = title ? ` about: ${title}` : '';
  return `Write a microagent for ${repo}${about}. A microagent is a Markdown file in .openhands/microagents/ with short, exact instructions that an agent should know when it works on this repository. Read the repository first, so that every line is true for it. Put the file on a branch of its own, push it, and open a ${request}.`;
}

export function taskPrompt(task: SuggestedTask): string {
  const prompt = prompts[task.task_type](task, terms[task.git_provider]);
  return task.title && task.task_type !== 'CREATE_MICROAGENT'
    ? `${prompt}\n\nIts title: ${task.title}`
    : prompt;
}

export function microagentPrompt({ repo, title, git_provider }: CreateMicroagent): string {
  return microagent(repo, title, (git_provider ? terms[git_provider] : pullRequest).request);
}
