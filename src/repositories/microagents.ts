// The microagents of a repository, read through the API of its provider: nothing is cloned for them.
import { AppError } from '../errors.ts';
import type { GitProvider } from '../git/providers.ts';
import { type Clock, timestamp } from '../process/clock.ts';
import { microagentsFolder, parseMicroagent } from '../text/microagents.ts';
import { type FileEntry, isUnseen, type RepositoryProvider } from './provider.ts';
import type { Microagent, MicroagentContent } from './schema.ts';

const suffix = '.md';

/** A file directly in the folder of microagents. */
function isMicroagentPath(path: string): boolean {
  const [folder, name] = [
    path.slice(0, microagentsFolder.length + 1),
    path.slice(microagentsFolder.length + 1),
  ];
  return folder === `${microagentsFolder}/` && name.endsWith(suffix) && !/[/\\\p{Cc}]/u.test(name);
}

/** Throws if there is no such repository, but not if it has no such folder. */
async function filesIn(provider: RepositoryProvider, path: string): Promise<FileEntry[]> {
  try {
    return await provider.files(path, microagentsFolder);
  } catch (error) {
    if (!isUnseen(error)) throw error;
    await provider.repository(path);
    return [];
  }
}

interface Place {
  readonly path: string;
  readonly provider: GitProvider;
}

export async function listMicroagents(
  provider: RepositoryProvider,
  { path, provider: name, clock }: Place & { readonly clock: Clock },
): Promise<Microagent[]> {
  const files = (await filesIn(provider, path)).filter((file) => isMicroagentPath(file.path));
  if (files.length === 0) return [];
  const changedAt = Date.parse((await provider.changedAt(path, microagentsFolder)) ?? '');
  const created_at = Number.isNaN(changedAt) ? timestamp(clock) : new Date(changedAt).toISOString();
  return files.map((file) => ({
    name: file.name.slice(0, -suffix.length),
    path: file.path,
    created_at,
    git_provider: name,
  }));
}

/** Throws `not_found` if it is not a microagent of the repository. */
export async function readMicroagent(
  provider: RepositoryProvider,
  { path, provider: name, file }: Place & { readonly file: string },
): Promise<MicroagentContent> {
  if (!isMicroagentPath(file)) throw new AppError('not_found', 'The repository has no such microagent.');
  const { content, triggers } = parseMicroagent(await provider.readFile(path, file));
  return { content, path: file, triggers: [...triggers], git_provider: name };
}
