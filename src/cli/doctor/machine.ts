// Checks this machine: the data folder, the sandbox and the agents.
import { existsSync, mkdtempSync, rmdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseAgent } from '../../agents/choose.ts';
import { findAgent } from '../../agents/find.ts';
import type { Profile } from '../../agents/profileSchema.ts';
import { loadProfiles } from '../../agents/profiles.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import {
  type Cgroups,
  findMissingLimits,
  limitsHold,
  limitsRemedy,
  openCgroups,
} from '../../sandbox/cgroups.ts';
import { planSandbox } from '../../sandbox/choose.ts';
import { freeFilesMin } from '../../sandbox/limits.ts';
import { type Finding, note, ok, wrong } from './finding.ts';

const mb = 1_000_000;
const freeMinBytes = 200 * mb;
const freeGoodBytes = 2_000 * mb;

function freeSpace(dataDir: string): Finding {
  const { bavail, bsize, files, ffree } = statfsSync(dataDir);
  const free = bavail * bsize;
  // Some file systems have no fixed number of inodes.
  const inodes = files === 0 ? '' : ` and ${ffree.toLocaleString('en')} inodes`;
  const message = `${Math.round(free / mb).toLocaleString('en')} MB${inodes} are free.`;
  if (free < freeMinBytes) return wrong('disk', message, 'Free some space: otherwise nothing can be stored.');
  if (files > 0 && ffree < freeFilesMin)
    return wrong(
      'disk',
      message,
      'Delete files, such as workspaces that nobody needs: otherwise no conversation can run.',
    );
  return free < freeGoodBytes
    ? note('disk', message, 'Workspaces of conversations need space, too.')
    : ok('disk', message);
}

export function checkDataDir({ dataDir }: Pick<Config, 'dataDir'>): Finding[] {
  if (!existsSync(dataDir))
    return [
      note('data folder', `${dataDir} does not exist yet.`, `The first "${commandName} serve" creates it.`),
    ];
  if (!statSync(dataDir).isDirectory())
    return [wrong('data folder', `${dataDir} is not a folder.`, 'Choose another one with PARLEY_DATA_DIR.')];
  try {
    rmdirSync(mkdtempSync(join(dataDir, '.doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const remedy =
      'Run this command as the user of the service, give that user the folder (chown), or choose another folder.';
    return [wrong('data folder', `${dataDir} is not writable (${code}).`, remedy)];
  }
  return [ok('data folder', `${dataDir} is writable.`), freeSpace(dataDir)];
}

export async function checkSandbox(config: Config): Promise<Finding> {
  const { dataDir, sandbox: choice, sandboxImages, seccomp, onLoopback } = config;
  const temporary = existsSync(dataDir) ? undefined : mkdtempSync(join(tmpdir(), 'parley-doctor-'));
  try {
    const plan = await planSandbox({
      choice,
      image: sandboxImages[0] ?? '',
      runtime: config.dockerRuntime,
      hidden: [dataDir],
      trialFolder: temporary ?? dataDir,
      seccomp: seccomp === 'on',
      onLoopback: () => onLoopback,
      hasOneUser: async () => true,
    });
    const { kind, announcement } = plan;
    const remedy = 'Install bubblewrap (apt install bubblewrap) and see docs/sandbox.md.';
    if (kind === undefined) return wrong('sandbox', announcement, remedy);
    if (kind === 'process') return note('sandbox', announcement, remedy);
    if (kind === 'bubblewrap' && !plan.seccomp)
      return note('sandbox', announcement, 'Unset PARLEY_SECCOMP unless agents need a debugger.');
    return ok('sandbox', announcement);
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
  }
}

/** Checks the limits that the running service reports. */
export function checkLimits(holds: Cgroups['holds'] | undefined): Finding[] {
  if (holds === undefined) return [];
  const missing = findMissingLimits(holds);
  return [
    missing === undefined
      ? ok('limits', 'Memory and the number of processes of agents are limited.')
      : note('limits', missing, limitsRemedy),
  ];
}

/** Checks the limits that a service would have here if it were started like this command. */
export function checkOwnLimits({ sandbox }: Pick<Config, 'sandbox'>): Finding[] {
  if (sandbox === 'docker') return [];
  const kind = sandbox === 'process' ? 'process' : 'bubblewrap';
  const missing = findMissingLimits(limitsHold(kind, openCgroups()));
  return missing === undefined
    ? []
    : [note('limits', `For a service that is started from here: ${missing}`, limitsRemedy)];
}

/** Checks which agents are installed, and the one in the settings. `agent` is undefined if the settings are unknown. */
export async function checkAgents(
  { agentsFile, agentsDir }: Config,
  agent: string | null | undefined,
): Promise<Finding> {
  let profiles: readonly Profile[];
  try {
    profiles = loadProfiles(agentsFile);
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return wrong('agents', error.message, `Fix ${agentsFile}, or move it away; see docs/agents.md.`);
  }
  const searched = await Promise.all(
    profiles.map(async (profile) => ({ profile, found: await findAgent(profile, { agentsDir }) })),
  );
  const installed = searched.flatMap(({ profile, found }) => ('lacks' in found ? [] : [profile.id]));
  const chosen = agent === undefined ? undefined : await chooseAgent(profiles, agent, { agentsDir });
  if (chosen?.missing !== undefined)
    return wrong(
      'agents',
      chosen.missing,
      `Install it, or choose another one: ${commandName} settings set agent NAME`,
    );
  return ok(
    'agents',
    `Installed: ${installed.join(', ') || 'none'}. "${commandName} agents list" shows all of them.`,
  );
}
