// What the doctor looks at on this machine: the data folder, the sandbox and the agents.
import { existsSync, mkdtempSync, rmdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseAgent } from '../../agents/choose.ts';
import { findAgent } from '../../agents/find.ts';
import { loadProfiles, type Profile } from '../../agents/profiles.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
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
  if (free < freeMinBytes) return wrong('disk', message, 'Make room: without any, nothing can be stored.');
  if (files > 0 && ffree < freeFilesMin)
    return wrong(
      'disk',
      message,
      'Delete files, such as workspaces that nobody needs: no conversation can run.',
    );
  return free < freeGoodBytes
    ? note('disk', message, 'Workspaces of conversations need room, too.')
    : ok('disk', message);
}

export function checkDataDir({ dataDir }: Pick<Config, 'dataDir'>): Finding[] {
  if (!existsSync(dataDir))
    return [
      note('data folder', `${dataDir} is not there yet.`, `The first "${commandName} serve" makes it.`),
    ];
  if (!statSync(dataDir).isDirectory())
    return [wrong('data folder', `${dataDir} is no folder.`, 'Choose another with PARLEY_DATA_DIR.')];
  try {
    rmdirSync(mkdtempSync(join(dataDir, '.doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const remedy =
      'Run this as the user of the service, give that user the folder (chown), or choose another.';
    return [wrong('data folder', `Nothing can be written to ${dataDir} (${code}).`, remedy)];
  }
  return [ok('data folder', `${dataDir} can be written to.`), freeSpace(dataDir)];
}

export async function checkSandbox(config: Config): Promise<Finding> {
  const { dataDir, sandbox: choice, sandboxImages, seccomp, onLoopback } = config;
  const temporary = existsSync(dataDir) ? undefined : mkdtempSync(join(tmpdir(), 'parley-doctor-'));
  try {
    const plan = await planSandbox({
      choice,
      image: sandboxImages[0] ?? '',
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

/** The agents that are here, and whether the one of the settings is. `agent` is undefined where it is not known. */
export async function checkAgents(
  { agentsFile }: Config,
  agent: string | null | undefined,
): Promise<Finding> {
  let profiles: readonly Profile[];
  try {
    profiles = loadProfiles(agentsFile);
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return wrong('agents', error.message, `Mend ${agentsFile}, or move it away; see docs/agents.md.`);
  }
  const looked = await Promise.all(
    profiles.map(async (profile) => ({ profile, found: await findAgent(profile) })),
  );
  const here = looked.flatMap(({ profile, found }) => (found === undefined ? [] : [profile.id]));
  const chosen = agent === undefined ? undefined : await chooseAgent(profiles, agent);
  if (chosen?.missing !== undefined)
    return wrong(
      'agents',
      chosen.missing,
      `Install it, or choose another: ${commandName} settings set agent NAME`,
    );
  return ok('agents', `Here: ${here.join(', ') || 'none'}. "${commandName} agents list" shows the others.`);
}
