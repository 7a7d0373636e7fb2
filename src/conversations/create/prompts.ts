// The first message for a suggested task or a microagent request, in the terms of its git provider. The tools that it
// names are in src/bridge/forge; an agent has them if its user has an access token.
import type { GitProvider } from '../../git/providers.ts';
import type { CreateMicroagent, SuggestedTask, TaskType } from './schema.ts';

interface Terms {
  readonly request: string;
  readonly short: string;
  readonly checks: string;
  /** The file that defines the checks. */
  readonly checksPlace: string;
  /** The ref of a pull request, which can be fetched without knowing its branch. */
  readonly ref?: (number: number) => string;
}

const github: Terms = {
  request: 'pull request',
  short: 'PR',
  checks: 'GitHub Actions checks',
  checksPlace: '.github/workflows',
  ref: (number) => `pull/${number}/head`,
};
const terms: Readonly<Record<GitProvider, Terms>> = {
  github,
  enterprise_sso: { ...github, checks: 'checks' },
  gitlab: {
    request: 'merge request',
    short: 'MR',
    checks: 'CI pipelines',
    checksPlace: '.gitlab-ci.yml',
    ref: (number) => `merge-requests/${number}/head`,
  },
  bitbucket: {
    request: 'pull request',
    short: 'PR',
    checks: 'Bitbucket pipelines',
    checksPlace: 'bitbucket-pipelines.yml',
  },
};
/** For an unknown provider. */
const anyTerms: Terms = { request: 'pull request', short: 'PR', checks: 'checks', checksPlace: 'its CI' };

const namedCharsMax = 300;
const stand: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '"': "'", '`': "'" };

/** Text of other people as one line that contains no markup and cannot end a quotation. */
function named(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line
    .slice(0, namedCharsMax)
    .toWellFormed()
    .replaceAll(/[<>"`]/g, (mark) => stand[mark] ?? '');
}

function steps(...lines: readonly string[]): string {
  return lines.map((line, i) => `${i + 1}. ${line}`).join('\n');
}

function readIt(kind: 'issue' | 'pull_request', number: number): string {
  return `with the tool read_issue, number ${number} and kind ${kind}`;
}

/** Checks out the branch of an existing pull request. */
function toItsBranch(number: number, { request, short, ref }: Terms): string {
  const otherwise =
    ref === undefined
      ? 'look for its branch among those of origin, and ask where you are not sure'
      : `fetch ${ref(number)} from origin, and find the branch with the same commit`;
  return `Read the ${request} ${readIt('pull_request', number)}: it names the branches. Where you do not have the tool, ${otherwise}. Check out the ${short}'s own branch from origin.`;
}

function pushIt({ request, short }: Terms): string {
  return `Commit, and push to the ${short}'s own branch; never force, and open no other ${request}.`;
}

/** Commits to a new branch and opens a pull request. */
function propose({ request, short }: Terms, closes: string): string[] {
  return [
    'Work on a branch of your own with a name that says what it is for; commit in steps that make sense, and push it to origin.',
    `Open a ${request} for it with the tool open_pull_request: a title of one line, and what was changed and why${closes}. Where you do not have the tool, say that the ${short} has to be opened by hand, and for which branch.`,
  ];
}

function ending({ request }: Terms): string {
  return `Say at the end what you did, what you could not check, what is left for a person, and the URL of the ${request}.`;
}

type Prompt = (
  task: Pick<SuggestedTask, 'issue_number'> & { repo: string; title: string },
  terms: Terms,
) => string;

/** The common steps around those for an existing pull request. */
function onRequest(number: number, terms: Terms, ...middle: readonly string[]): string {
  return steps(toItsBranch(number, terms), ...middle, pushIt(terms), ending(terms));
}

const prompts: Readonly<Record<TaskType, Prompt>> = {
  MERGE_CONFLICTS: ({ repo, issue_number: number }, terms) =>
    `The ${terms.request} #${number} of ${repo} cannot be merged because of conflicts. Resolve them.\n\n${onRequest(
      number,
      terms,
      `Merge the branch that the ${terms.short} is for into it. Do not rebase: others may have these commits.`,
      'Resolve each conflict so that the intent of both sides is kept; look at the commits that made it where you are not sure. Leave no markers behind.',
      'Build and test as the repository does.',
    )}`,
  FAILING_CHECKS: ({ repo, issue_number: number }, terms) =>
    `The ${terms.checks} of ${terms.request} #${number} in ${repo} fail. Mend what makes them fail.\n\n${onRequest(
      number,
      terms,
      `Find out what is checked, in ${terms.checksPlace}, and run the same here as far as it can be run.`,
      'Mend the cause, not the check: weaken or skip no test unless it is wrong, and then say why.',
      'Run all of it again until it passes.',
    )}`,
  UNRESOLVED_COMMENTS: ({ repo, issue_number: number }, terms) =>
    `The ${terms.request} #${number} of ${repo} has review comments that nobody has resolved. Work through them.\n\n${onRequest(
      number,
      terms,
      'Take each open comment with the code that it is about, and make the change that it asks for. Where you disagree, or a person has to decide, change nothing and say so.',
      'Build and test as the repository does.',
    )}\n\nName in your last message each comment and what became of it.`,
  OPEN_ISSUE: ({ repo, issue_number: number }, terms) =>
    `Work on issue #${number} of ${repo}.\n\n${steps(
      `Read the issue and its discussion ${readIt('issue', number)}. Where you do not have the tool and cannot read it otherwise, say so.`,
      'Find the code that it concerns, and reproduce the fault with a test where it is one.',
      'Mend it with the smallest change that does so fully, with tests, and run them as the repository does.',
      ...propose(terms, `, with "Closes #${number}"`),
      ending(terms),
    )}`,
  OPEN_PR: ({ repo, issue_number: number }, terms) =>
    `Carry on with ${terms.request} #${number} of ${repo}.\n\n${onRequest(
      number,
      terms,
      'From its description, discussion and changes find what is missing before it can be merged, and finish that; begin nothing else.',
      'Build and test as the repository does.',
    )}`,
  CREATE_MICROAGENT: ({ repo, title }, terms) => microagent(repo, title, terms),
};

function microagent(repo: string, title: string, terms: Terms): string {
  const about = title === '' ? '' : ` about "${title}"`;
  return `Write a microagent for ${repo}${about}.\n\n${steps(
    'A microagent is a Markdown file in .openhands/microagents/ with short, exact instructions that an agent should know when it works on this repository. Where it should only count when certain words are said, it begins with front matter that lists them as triggers.',
    'Read the repository first, and the microagents that it has, so that every line is true for it and nothing is said twice. Try out each command that you write down.',
    ...propose(terms, ''),
    ending(terms),
  )}`;
}

export function taskPrompt(task: SuggestedTask): string {
  const { task_type: type, issue_number } = task;
  const title = named(task.title);
  const prompt = prompts[type]({ issue_number, repo: named(task.repo), title }, terms[task.git_provider]);
  if (title === '' || type === 'CREATE_MICROAGENT') return prompt;
  return `${prompt}\n\nIts title, as its author wrote it: "${title}"`;
}

export function microagentPrompt({ repo, title, git_provider }: CreateMicroagent): string {
  return microagent(named(repo), named(title ?? ''), git_provider ? terms[git_provider] : anyTerms);
}
