// The operations of a git provider on the repository of a conversation, whichever provider it is.
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
  /** The file and line, for a review comment. */
  readonly place?: string;
  /** Whether it was resolved, if the provider reports that. */
  readonly resolved?: boolean;
}

/** An issue or a pull request, with its comments. */
export interface Thread {
  readonly title: string;
  readonly url: string;
  readonly state: string;
  readonly author: string;
  readonly body: string;
  /** For a pull request. */
  readonly branches?: { readonly from: string; readonly to: string };
  /** Oldest first; only the newest if there are too many. */
  readonly comments: readonly Comment[];
}

export type ThreadKind = 'issue' | 'pull_request';

/** All methods throw ForgeFault. */
export interface Forge {
  defaultBranch(): Promise<string>;
  /** Finds the open pull request of the branch, into this base or any. */
  findOpen(branch: string, base: string | undefined): Promise<Opened | undefined>;
  open(proposal: Proposal): Promise<Opened>;
  readThread(kind: ThreadKind, number: number): Promise<Thread>;
}

/** `path` is the repository as `owner/name`. */
export type CreateForge = (ask: SendToForge, path: string) => Forge;

/** How many comments are requested at once. */
export const commentsPerPage = 100;

/** Sorts oldest first. Times are in ISO format, which sorts as text. */
export function byTime(comments: readonly Comment[]): Comment[] {
  return comments.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}
