// `parley agents add`: adds profiles for manifests of the ACP registry to the operator's file.
import { statSync } from 'node:fs';
import { readManifests } from '../../agents/install/manifests.ts';
import { AnyProfiles, type Profile } from '../../agents/profileSchema.ts';
import { loadProfiles, readProfiles } from '../../agents/profiles.ts';
import { ensureDataDir } from '../../db/open.ts';
import { RefusalError } from '../../errors.ts';
import { replaceFile } from '../../process/durableFiles.ts';
import { commandName } from '../../process/program.ts';
import { isObject } from '../../text/foreignText.ts';
import { plainLine } from '../../text/plainText.ts';
import { parseOperatorFile, readOperatorFile } from '../../validation/operatorFile.ts';
import type { Handler } from '../command.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { agentsAddCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';

/** The file has no secrets, and the service may run as another user. */
const newFileMode = 0o644;

function idOf(profile: unknown): unknown {
  return isObject(profile) ? profile['id'] : undefined;
}

/** The profiles in the operator's file as they are; invalid ones stay as well. */
function readExisting(agentsFile: string): unknown[] {
  const text = readOperatorFile(agentsFile, 'agents');
  return text === undefined ? [] : parseOperatorFile(text, agentsFile, AnyProfiles).agents;
}

function writeAll(agentsFile: string, agents: readonly unknown[]): void {
  const text = `${JSON.stringify({ agents }, null, 2)}\n`;
  parseOperatorFile(text, agentsFile, AnyProfiles);
  const mode = statSync(agentsFile, { throwIfNoEntry: false })?.mode ?? newFileMode;
  replaceFile(agentsFile, text, mode & 0o777);
}

/** Throws RefusalError if the file would become invalid. */
function writeProfiles(agentsFile: string, existing: readonly unknown[], added: readonly Profile[]): void {
  const kept = existing.filter((profile) => added.every(({ id }) => idOf(profile) !== id));
  readProfiles(JSON.stringify({ agents: added }), agentsFile);
  writeAll(agentsFile, [...kept, ...added]);
}

/** Whether the operator's file has a profile with this id. */
export function hasOwnProfile(agentsFile: string, id: string): boolean {
  return readExisting(agentsFile).some((profile) => idOf(profile) === id);
}

/** Removes a profile from the operator's file. */
export function removeOwnProfile(agentsFile: string, id: string): void {
  writeAll(
    agentsFile,
    readExisting(agentsFile).filter((profile) => idOf(profile) !== id),
  );
}

export const addAgents: Handler<typeof agentsAddCommand> = async ({ args, options }) => {
  const { agentsFile, dataDir } = readCommandConfig();
  const text = readOperatorFile(args.file, 'manifests');
  if (text === undefined) throw new RefusalError(`There is no file ${plainLine(args.file)}.`);
  const existing = readExisting(agentsFile);
  const ids = existing.map(idOf).filter((id) => typeof id === 'string');
  const shipped = loadProfiles().filter(({ id }) => !ids.includes(id));
  const own = existing.filter(isObject) as unknown as Profile[];
  const { profiles, refused } = readManifests(text, args.file, {
    protocol: options.protocol,
    known: [...shipped, ...own],
    replaceable: new Set(options.replace ? ids : []),
    only: options.only ?? [],
  });
  const { text: print, note } = createOutput({ json: false });
  if (profiles.length > 0) {
    ensureDataDir(dataDir);
    writeProfiles(agentsFile, existing, profiles);
  }
  for (const { id, name } of profiles)
    print(`Added ${id} (${plainLine(name)}). Install it with: ${commandName} agents install ${id}\n`);
  for (const { id, reason } of refused) note(`Not added: ${plainLine(id)}: ${plainLine(reason)}\n`);
  if (profiles.length > 0) print('Restart the service, so that it knows the new agents.\n');
  return profiles.length > 0 ? exits.done : exits.failed;
};
