// `parley agents install` and `agents remove`.
import { knownAgentsSentence } from '../../agents/choose.ts';
import { findAgent } from '../../agents/find.ts';
import { installAgent, packagesOf, removeAgent } from '../../agents/install/install.ts';
import { findNpm } from '../../agents/install/npm.ts';
import type { PinnedPackage, Profile } from '../../agents/profileSchema.ts';
import { findProfile } from '../../agents/profiles.ts';
import type { Config } from '../../config.ts';
import { ensureDataDir } from '../../db/open.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { agentsInstallCommand, agentsRemoveCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { readableProfiles } from './agents.ts';
import { hasOwnProfile, removeOwnProfile } from './agentsAdd.ts';

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const progressEveryMs = 1_000;
/** How often progress is printed if a line cannot be overwritten. */
const printEveryMs = 15_000;
/** Everybody may read what is installed, because the service may run as another user. */
const readableByAll = 0o022;

function getProfile(profiles: readonly Profile[], name: string): Profile {
  const profile = findProfile(profiles, name);
  if (profile !== undefined) return profile;
  throw new RefusalError(`There is no such agent. ${knownAgentsSentence(profiles)}`);
}

/** Shows the time and the number of downloads while npm works. */
function showInstalling({ isLive, text }: Output, what: string) {
  const startedMs = Date.now();
  let [downloads, printedMs] = [0, startedMs];
  text(`Installing ${what}\n`);
  const timer = setInterval(() => {
    const line = `${Math.round((Date.now() - startedMs) / 1_000)} s, ${downloads} downloads`;
    if (isLive) return text(`\r\u001b[K${line}`);
    if (Date.now() - printedMs < printEveryMs) return;
    printedMs = Date.now();
    text(`${line}\n`);
  }, progressEveryMs);
  return {
    onDownload: (count: number) => {
      downloads = count;
    },
    end: () => {
      clearInterval(timer);
      if (isLive) text('\r\u001b[K');
    },
  };
}

function describePackages(packages: readonly PinnedPackage[]): string {
  return packages.map(({ name, version }) => `${name} ${version}`).join(' and ');
}

export const installNamedAgent: Handler<typeof agentsInstallCommand> = async ({ args, options }) => {
  const config = readCommandConfig();
  const { agentsDir, dataDir } = config;
  const profile = getProfile(readableProfiles(config), args.agent);
  const packages = packagesOf(profile, options.version);
  const output = createOutput({ json: false });
  const npm = findNpm();
  ensureDataDir(dataDir);
  process.umask(readableByAll);
  return untilInterrupted(endingSignals, async (signal) => {
    const { version } = options;
    const progress = showInstalling(output, describePackages(packages));
    const { onDownload } = progress;
    try {
      const found = await installAgent({ profile, agentsDir, version, npm, signal, onDownload });
      progress.end();
      output.text(`Installed ${plainLine(profile.name)} ${found.version ?? ''} in ${found.foundAt}\n`);
      output.text(`Test it: ${commandName} agents test ${profile.id}\n`);
      return exits.done;
    } catch (error) {
      progress.end();
      if (signal.aborted) return exitOfSignal(signal.reason);
      throw error;
    }
  });
};

/** What to know about an agent after it was removed. */
async function restOf(profile: Profile, { agentsDir }: Config): Promise<string> {
  const found = await findAgent(profile, { agentsDir });
  if (profile.id === 'builtin') return ' It is part of Parley.';
  return 'lacks' in found ? '' : ` It is still found at ${found.foundAt}.`;
}

export const removeNamedAgent: Handler<typeof agentsRemoveCommand> = async ({ args, options }) => {
  const config = readCommandConfig();
  const { agentsDir, agentsFile } = config;
  const profile = getProfile(readableProfiles(config), args.agent);
  const { id } = profile;
  const name = plainLine(profile.name);
  const { text } = createOutput({ json: false });
  const isOwn = hasOwnProfile(agentsFile, id);
  if (options.profile && !isOwn) throw new RefusalError(`${name} has no profile in agents.json.`);
  const isRemoved = await removeAgent(agentsDir, id);
  if (options.profile) {
    removeOwnProfile(agentsFile, id);
    text(`Removed ${name} and its profile. Restart the service, so that it forgets the agent.\n`);
    return exits.done;
  }
  const hint = isOwn ? ` Its profile stays in agents.json; --profile removes it, too.` : '';
  const rest = (await restOf(profile, config)) + hint;
  if (!isRemoved) throw new RefusalError(`${name} is not installed in the data folder.${rest}`);
  text(`Removed ${name}.${rest}\n`);
  return exits.done;
};
