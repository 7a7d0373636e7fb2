// `parley agents install` and `agents remove`.
import { knownAgentsSentence } from '../../agents/choose.ts';
import { findAgent } from '../../agents/find.ts';
import { installAgent, removeAgent } from '../../agents/install/install.ts';
import { findNpm } from '../../agents/install/npm.ts';
import type { Profile } from '../../agents/profileSchema.ts';
import { findProfile } from '../../agents/profiles.ts';
import { readConfig } from '../../config.ts';
import { ensureDataDir } from '../../db/open.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import type { agentsInstallCommand, agentsRemoveCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { readableProfiles } from './agents.ts';

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

function describePackages({ packages = [] }: Profile, version: string | undefined): string {
  return packages
    .map((one, i) => `${one.name} ${i === 0 ? (version ?? one.version) : one.version}`)
    .join(' and ');
}

export const installNamedAgent: Handler<typeof agentsInstallCommand> = async ({ args, options }) => {
  const config = readConfig(process.env);
  const { agentsDir, dataDir } = config;
  const profile = getProfile(readableProfiles(config), args.agent);
  const output = createOutput({ json: false });
  const npm = findNpm();
  ensureDataDir(dataDir);
  process.umask(readableByAll);
  return untilInterrupted(endingSignals, async (signal) => {
    const { version } = options;
    const progress = showInstalling(output, describePackages(profile, version));
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

export const removeNamedAgent: Handler<typeof agentsRemoveCommand> = async ({ args }) => {
  const config = readConfig(process.env);
  const { agentsDir } = config;
  const profile = getProfile(readableProfiles(config), args.agent);
  const { id, name } = profile;
  const isRemoved = await removeAgent(agentsDir, id);
  const rest = await findAgent(profile, { agentsDir });
  const inPath = 'lacks' in rest ? '' : ` It is still found at ${rest.foundAt}.`;
  if (!isRemoved) throw new RefusalError(`${name} is not installed in the data folder.${inPath}`);
  createOutput({ json: false }).text(`Removed ${plainLine(name)}.${inPath}\n`);
  return exits.done;
};
