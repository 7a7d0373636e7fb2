// What Git providers can be asked for, whichever provider it is.
import type { SuggestedTask } from '../conversations/create/schema.ts';
import { AppError } from '../errors.ts';
import type { GitProvider } from '../git/providers.ts';
import type { AskProvider } from './requests.ts';
import {
  type Branch,
  type GitUser,
  type ListSort,
  type Order,
  perPageMax,
  type Repository,
  type SearchSort,
} from './schema.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextPage: number | null;
  /** Null if the provider does not say. */
  readonly total: number | null;
}

export interface PageNumber {
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
}

export interface ListRepositories extends PageNumber {
  readonly sort: ListSort;
  readonly installation?: string | undefined;
}

export interface SearchRepositories {
  readonly text: string;
  readonly perPage: number;
  readonly sort: SearchSort;
  readonly order: Order;
}

/** A file in a folder of a repository. */
export interface FileEntry {
  readonly name: string;
  readonly path: string;
}

/** A provider with the access token of one user, for one request. All methods throw AppError. */
export interface RepositoryProvider {
  readonly user: () => Promise<GitUser>;
  readonly installations: () => Promise<string[]>;
  readonly repositories: (list: ListRepositories) => Promise<Page<Repository>>;
  /** Returns repositories of the user first, then public ones. */
  readonly search: (search: SearchRepositories) => Promise<Repository[]>;
  /** Throws `not_found` if there is no such repository. */
  readonly repository: (path: string) => Promise<Repository>;
  readonly branches: (path: string, page: PageNumber) => Promise<Page<Branch>>;
  readonly searchBranches: (path: string, text: string, perPage: number) => Promise<Branch[]>;
  readonly suggestedTasks: () => Promise<SuggestedTask[]>;
  /** The files of a folder on the default branch. Throws `not_found` if there is no such folder. */
  readonly files: (path: string, folder: string) => Promise<FileEntry[]>;
  /** When something in the folder was last changed; undefined if the provider does not say. */
  readonly changedAt: (path: string, folder: string) => Promise<string | undefined>;
  /** A file on the default branch. Throws `not_found` if there is no such file. */
  readonly readFile: (path: string, file: string) => Promise<string>;
}

export type CreateProvider = (ask: AskProvider, provider: GitProvider) => RepositoryProvider;

/** The own results, then those of the wider search as far as there is room. No repository comes twice. */
export async function ownFirst(
  perPage: number,
  own: () => Promise<Repository[]>,
  wider: () => Promise<Repository[]>,
): Promise<Repository[]> {
  const found = (await own()).slice(0, perPage);
  if (found.length === perPage) return found;
  const known = new Set(found.map(({ id }) => id));
  return [...found, ...(await wider()).filter(({ id }) => !known.has(id))].slice(0, perPage);
}

/** Whether the error means that it does not exist, as far as the token can see. */
export function isUnseen(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'not_found' || error.code === 'git_token_refused');
}

/** Nothing if the token may not see it. */
export async function orNone<Item>(asked: Promise<Item[]>): Promise<Item[]> {
  return asked.catch((error: unknown) => {
    if (isUnseen(error)) return [];
    throw error;
  });
}

/** A name as one segment of a path. Throws `not_found` for those that a URL cannot contain. */
export function pathSegment(name: string): string {
  if (/^\.{0,2}$/.test(name)) throw new AppError('not_found', 'The Git provider cannot have this name.');
  return encodeURIComponent(name);
}

/** A provider may return fewer items on a page than it was asked for. */
const pagesMax = 20;

/** The items of all pages, as far as the limits allow. */
export async function readPages<Item>(
  itemsMax: number,
  read: (page: PageNumber) => Promise<Page<Item>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = 1; page <= pagesMax && items.length < itemsMax; page++) {
    const found = await read({ page, perPage: perPageMax });
    items.push(...found.items);
    if (found.nextPage === null) break;
  }
  return items.slice(0, itemsMax);
}
