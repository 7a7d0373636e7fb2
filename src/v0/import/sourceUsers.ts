// Finds the users in the file store of a V0 server. A server for one user keeps everything at the top; others have
// `users/ID`, each with the same structure below it.
import { UserName } from '../../users/schema.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { SourceEntry, SourceFolder } from './sourceFolder.ts';

/** Older servers also kept secrets in settings.json; those in secrets.json are newer and come first. */
export const settingsFiles = ['secrets.json', 'settings.json'] as const;
export const conversationFolders = ['sessions', 'conversations'] as const;
const usersMax = 100_000;

export interface SourceUser {
  /** The user of this server. */
  readonly name: string;
  readonly folder: SourceFolder;
}

export interface FoundUsers {
  readonly users: readonly SourceUser[];
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

const checkName = compileCheck(UserName);

const entryFaults = {
  folder: undefined,
  link: 'is a link, which is not followed',
  file: 'is not a folder',
  other: 'is not a folder',
  unreadable: 'cannot be read',
} as const satisfies Record<SourceEntry['kind'], string | undefined>;

/** Why an entry is not imported; undefined if it is a folder. */
export function entryFault({ kind }: Pick<SourceEntry, 'kind'>): string | undefined {
  return entryFaults[kind];
}

/** Whether there is anything of a user in this folder. */
function hasRecords(folder: SourceFolder): boolean {
  return (
    settingsFiles.some((name) => folder.kind(name) !== undefined) ||
    conversationFolders.some((name) => folder.kind(name) !== undefined)
  );
}

/** `userName` is for everything, or undefined: then `ownerName` gets what is at the top, and others keep their names. */
export function findUsers(root: SourceFolder, ownerName: string, userName: string | undefined): FoundUsers {
  const users: SourceUser[] = hasRecords(root) ? [{ name: userName ?? ownerName, folder: root }] : [];
  const skipped: { path: string; reason: string }[] = [];
  const folder = root.folder('users');
  const kind = root.kind('users');
  if (kind !== undefined && folder === undefined)
    skipped.push({ path: 'users', reason: entryFault({ kind }) ?? entryFaults.unreadable });
  for (const entry of folder?.entries() ?? []) {
    if (entry.name.startsWith('.') || folder === undefined) continue;
    const name = userName ?? entry.name;
    const isNamed = checkName(name) === undefined && users.length < usersMax;
    const below = entry.kind === 'folder' && isNamed ? folder.folder(entry.name) : undefined;
    if (below !== undefined) users.push({ name, folder: below });
    else
      skipped.push({
        path: `users/${entry.name}`,
        reason:
          entryFault(entry) ?? 'cannot be the name of a user; import this folder alone with --user NAME',
      });
  }
  return { users, skipped };
}
