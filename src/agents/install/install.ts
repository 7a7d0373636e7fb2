// Installs agents from npm into the data folder, and removes them. An installation that was interrupted is never used.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { replaceFile } from '../../process/durableFiles.ts';
import { commandName } from '../../process/program.ts';
import { missingSentence } from '../choose.ts';
import { type FoundAgent, findAgent } from '../find.ts';
import { findInstallation, type InstallationRecord, packageFolder, recordFile } from '../installed.ts';
import { readPackage } from '../npmPackage.ts';
import { exactVersion, type PinnedPackage, type Profile } from '../profileSchema.ts';
import { type NpmInstall, npmInstall } from './npm.ts';

/** The registry has no program of the agent for this kind of machine. */
export class NoBinaryError extends RefusalError {}

const partPrefix = '.part-';
/** Everybody may read what is installed: the service may run as another user than the operator. */
const recordMode = 0o644;

interface InstallOptions extends Pick<NpmInstall, 'npm' | 'signal' | 'onDownload'> {
  readonly profile: Profile;
  readonly agentsDir: string;
  /** Instead of the version that the profile names. */
  readonly version?: string | undefined;
}

/** What to install. Throws RefusalError if there is nothing, or the version is not exact. */
export function packagesOf(
  { id, name, packages, install }: Profile,
  version: string | undefined,
): PinnedPackage[] {
  const [first, ...others] = packages ?? [];
  if (first === undefined) {
    const remedy = install === undefined ? '' : ` Install it with: ${install}`;
    throw new RefusalError(
      id === 'builtin'
        ? `${name} is part of Parley and needs no installation.`
        : `The profile of ${id} names no npm package.${remedy}`,
    );
  }
  if (version !== undefined && !exactVersion.test(version))
    throw new RefusalError(
      `--version must be exact, such as ${first.version}: a tag or a range could change what runs.`,
    );
  return [{ ...first, version: version ?? first.version }, ...others];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes what interrupted installations have left, and versions that nothing refers to. */
async function removeOthers(folder: string, kept: readonly (string | undefined)[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory() && !kept.includes(one.name))) {
    const [, pid] = /^\.part-(\d+)-/.exec(entry.name) ?? [];
    if (pid === undefined || !isAlive(Number(pid)))
      await rm(join(folder, entry.name), { recursive: true, force: true });
  }
}

/** Names of this machine in the names of npm packages. */
const machineNames = [process.platform === 'win32' ? '(win32|windows)' : process.platform, process.arch];

/**
 * Packages with programs for one kind of machine are optional, so npm installs none of them if the registry has none
 * for this machine. They have the same version as the package that needs them.
 */
async function findMissingBinary(
  part: string,
  { name, version }: PinnedPackage,
): Promise<string | undefined> {
  const folder = packageFolder(part, name);
  const { optionalDependencies = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const ours = Object.entries(optionalDependencies).flatMap(([other, needed]) =>
    needed === version && machineNames.every((one) => new RegExp(`[-/]${one}(-|$)`).test(other)) ? other : [],
  );
  const isThere = (other: string) =>
    existsSync(join(folder, 'node_modules', other)) || existsSync(packageFolder(part, other));
  const [shortest] = ours.toSorted((a, b) => a.length - b.length);
  return ours.some(isThere) ? undefined : shortest;
}

/** Throws RefusalError if something is missing. */
async function checkInstallation(part: string, profile: Profile, packages: readonly PinnedPackage[]) {
  for (const wanted of packages) {
    const found = await readPackage(packageFolder(part, wanted.name));
    if (found?.version !== wanted.version)
      throw new RefusalError(`npm did not install ${wanted.name} ${wanted.version}.`);
    const binary = await findMissingBinary(part, wanted);
    if (binary !== undefined)
      throw new NoBinaryError(
        `The registry has no ${binary} ${wanted.version}, which ${profile.name} needs on this machine. Another version may have it: ${commandName} agents install ${profile.id} --version VERSION`,
      );
  }
  const found = await findAgent(profile, { installation: part, path: '' });
  if ('lacks' in found) throw new RefusalError(missingSentence(profile, found));
}

/** Returns the agent as it is found afterwards. If it fails, it throws RefusalError and the previous installation stays. */
export async function installAgent(options: InstallOptions): Promise<FoundAgent> {
  const { profile, agentsDir, version, npm, signal, onDownload } = options;
  const packages = packagesOf(profile, version);
  const folder = join(agentsDir, profile.id);
  await mkdir(folder, { recursive: true });
  const current = await findInstallation(agentsDir, profile.id);
  const previous = typeof current === 'string' ? basename(current) : undefined;
  await removeOthers(folder, [previous]);
  const suffix = randomBytes(4).toString('hex');
  const part = join(folder, `${partPrefix}${process.pid}-${suffix}`);
  const name = `${packages[0]?.version}-${suffix}`;
  try {
    await mkdir(part);
    await npmInstall({
      npm,
      folder: part,
      packages: packages.map((one) => `${one.name}@${one.version}`),
      runScripts: packages.some(({ scripts }) => scripts === true),
      signal,
      onDownload,
    });
    await checkInstallation(part, profile, packages);
    await rename(part, join(folder, name));
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  const record: InstallationRecord = {
    folder: name,
    packages: packages.map((one) => ({ name: one.name, version: one.version })),
    installed_at: new Date().toISOString(),
  };
  replaceFile(recordFile(agentsDir, profile.id), `${JSON.stringify(record, null, 2)}\n`, recordMode);
  // Conversations may still be running with the previous version, so it stays until the next installation.
  await removeOthers(folder, [name, previous]);
  const found = await findAgent(profile, { agentsDir, path: '' });
  if ('lacks' in found) throw new RefusalError(missingSentence(profile, found));
  return found;
}

/** Removes every version of the agent from the data folder. Returns false if there was none. */
export async function removeAgent(agentsDir: string, id: string): Promise<boolean> {
  const isInstalled = (await findInstallation(agentsDir, id)) !== undefined;
  // Without its record, nothing of it is used.
  await rm(recordFile(agentsDir, id), { force: true });
  await rm(join(agentsDir, id), { recursive: true, force: true });
  return isInstalled;
}
