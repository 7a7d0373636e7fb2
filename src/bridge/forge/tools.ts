// The tools for pull requests and issues. Every agent gets them if its user has an access token for the repository's
// provider.
import Type, { type TSchema } from 'typebox';
import { apiOf } from '../../forge/exchange.ts';
import type { GitProvider } from '../../git/providers.ts';
import { isBranchName } from '../../git/remote.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { Tool, ToolAnswer } from '../mcpServer.ts';
import { createBitbucket } from './bitbucket.ts';
import { createForgeClient, type ForgeClientOptions } from './client.ts';
import { ForgeFault } from './faults.ts';
import type { CreateForge, Forge, Opened } from './forge.ts';
import { createGithub } from './github.ts';
import { createGitlab } from './gitlab.ts';
import { threadText } from './threadText.ts';

const titleCharsMax = 250;
const bodyCharsMax = 60_000;
const branchCharsMax = 244;
const urlCharsMax = 2_000;
/** Per run, so that an agent in a loop does not flood a repository. */
const openedMax = 20;

const forges: Readonly<Record<GitProvider, CreateForge>> = {
  github: createGithub,
  enterprise_sso: createGithub,
  gitlab: createGitlab,
  bitbucket: createBitbucket,
};

interface ForgeToolsOptions extends Omit<ForgeClientOptions, 'api'> {
  /** The branch that the conversation started with. */
  readonly selectedBranch: string | null;
}

const branchOf = (description: string) =>
  Type.String({ minLength: 1, maxLength: branchCharsMax, description });

const openInput = (request: string) =>
  Type.Object(
    {
      title: Type.String({ minLength: 1, maxLength: titleCharsMax, description: 'One line.' }),
      body: Type.String({
        maxLength: bodyCharsMax,
        description: 'What was changed and why, in Markdown. Name the issue that it closes.',
      }),
      branch: branchOf('The branch with your commits. It must have been pushed.'),
      base: Type.Optional(
        branchOf(`The branch that the ${request} is to be merged into. Left out: the usual one.`),
      ),
    },
    { additionalProperties: false },
  );
type OpenInput = Type.Static<ReturnType<typeof openInput>>;

const ReadInput = Type.Object(
  {
    number: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    kind: Type.Unsafe<'issue' | 'pull_request'>({ type: 'string', enum: ['issue', 'pull_request'] }),
  },
  { additionalProperties: false },
);
type ReadInput = Type.Static<typeof ReadInput>;

function faultOf(schema: TSchema, given: unknown): string | undefined {
  return compileCheck(schema)(given)?.message;
}

function checkOpen({ title, branch, base }: OpenInput): void {
  if (/[\r\n]/.test(title) || title.trim() === '')
    throw new ForgeFault('title must be one line, and not empty.');
  for (const [field, name] of Object.entries({ branch, base }))
    if (name !== undefined && !isBranchName(name))
      throw new ForgeFault(`${field} is no name of a branch. Write it without refs/heads/ or origin/.`);
}

function checkOpened(opened: Opened): Opened {
  const { number, url } = opened;
  if (number < 1 || url.length > urlCharsMax || !/^https?:\/\/[^\s\p{Cc}]+$/u.test(url))
    throw new ForgeFault('The git provider does not say where it is. Look there before you try again.');
  return opened;
}

async function chooseBase(forge: Forge, branch: string, selected: string | null): Promise<string> {
  const base = selected === null || selected === branch ? await forge.defaultBranch() : selected;
  if (!isBranchName(base)) throw new ForgeFault('The repository has no usual branch. Name one as base.');
  return base;
}

/** Turns a ForgeFault into a tool result; other errors are rethrown. */
async function withFaultResult(work: () => Promise<string>): Promise<ToolAnswer> {
  try {
    return { text: await work() };
  } catch (error) {
    if (!(error instanceof ForgeFault)) throw error;
    return { text: error.message, failed: true };
  }
}

/** Returns no tools if we do not support the provider's API. */
export function createForgeTools(options: ForgeToolsOptions): readonly Tool[] {
  const { remote, selectedBranch } = options;
  const api = apiOf(remote);
  if (api === undefined) return [];
  const askFor = createForgeClient({ ...options, api });
  const forgeFor = (signal: AbortSignal) => forges[remote.provider](askFor(signal), remote.path);
  const request = remote.provider === 'gitlab' ? 'merge request' : 'pull request';
  /** Including those that are being opened. */
  let openedCount = 0;

  async function open(given: OpenInput, forge: Forge): Promise<string> {
    checkOpen(given);
    const { title, body, branch } = given;
    const existing = await forge.findOpen(branch, given.base);
    if (existing !== undefined) {
      const { number, url } = checkOpened(existing);
      return `There is one for this branch already: ${request} #${number}, ${url} . What you pushed is in it.`;
    }
    const base = given.base ?? (await chooseBase(forge, branch, selectedBranch));
    if (base === branch)
      throw new ForgeFault(`${branch} cannot be merged into itself. Push your commits to another branch.`);
    if (openedCount >= openedMax)
      throw new ForgeFault(`This run has opened ${openedMax} already, and may open no more.`);
    openedCount += 1;
    const opened = await forge.open({ title: title.trim(), body, branch, base }).catch((error: unknown) => {
      openedCount -= 1;
      throw error;
    });
    const { number, url } = checkOpened(opened);
    return `Opened ${request} #${number}: ${url}`;
  }

  async function read({ number, kind }: ReadInput, forge: Forge): Promise<string> {
    const what = kind === 'issue' ? 'Issue' : request.replace(/^./, (first) => first.toUpperCase());
    return threadText(`${what} #${number}`, await forge.readThread(kind, number));
  }

  function tool<Input>(
    described: Omit<Tool, 'call' | 'inputSchema'> & { readonly inputSchema: TSchema },
    work: (given: Input, forge: Forge) => Promise<string>,
  ): Tool {
    return {
      ...described,
      call: async (given, signal) => {
        const fault = faultOf(described.inputSchema, given);
        if (fault !== undefined) return { text: fault, failed: true };
        return withFaultResult(() => work(given as Input, forgeFor(signal)));
      },
    };
  }

  return [
    tool(
      {
        name: 'open_pull_request',
        description: `Opens a ${request} in ${remote.path} for a branch that you have pushed, and answers with its number and URL. Where one is open for the branch, it answers with that.`,
        inputSchema: openInput(request),
      },
      open,
    ),
    tool(
      {
        name: 'read_issue',
        description: `Reads an issue or a ${request} (kind pull_request) of ${remote.path}: title, state, description, branches, and the comments with the newest last.`,
        inputSchema: ReadInput,
      },
      read,
    ),
  ];
}
