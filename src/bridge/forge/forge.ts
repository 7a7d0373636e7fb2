// What a forge can do, whichever it is: the API of a git provider, for the one repository of a conversation.
import type { SendToForge } from './client.ts';

/** A pull request, or a merge request. */
export interface Opened {
  readonly number: number;
  readonly url: string;
}

export interface Proposal {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  readonly base: string;
}

export interface Comment {
  readonly author: string;
  readonly at: string;
  readonly body: string;
  /** Where it is about a line of code: the file and the line. */
  readonly place?: string;
  /** Where the forge tells whether somebody has resolved it. */
  readonly resolved?: boolean;
}

/** An issue or a pull request, with what was said about it. */
export interface Thread {
  readonly title: string;
  readonly url: string;
  readonly state: string;
  readonly author: string;
  readonly body: string;
  /** Of a pull request. */
  readonly branches?: { readonly from: string; readonly to: string };
  /** In the order of their time; the newest, where there are more than were asked for. */
  readonly comments: readonly Comment[];
}

export type ThreadKind = 'issue' | 'pull_request';

/** All of it throws ForgeFault. */
export interface Forge {
  defaultBranch(): Promise<string>;
  /** The one that is open for the branch, towards that base or any. */
  findOpen(branch: string, base: string | undefined): Promise<Opened | undefined>;
  open(proposal: Proposal): Promise<Opened>;
  readThread(kind: ThreadKind, number: number): Promise<Thread>;
}

/** `path` is that of the repository, `owner/name`. */
export type CreateForge = (ask: SendToForge, path: string) => Forge;

/** For how many comments a forge is asked at once. */
export const commentsPerPage = 100;

/** Oldest first. Times are in ISO form, which sorts as text. */
export function byTime(comments: readonly Comment[]): Comment[] {
  return comments.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}
