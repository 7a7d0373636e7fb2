// Finds out which sandboxes work on this machine by trying them.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createBubblewrap } from './bubblewrap.ts';
import { runEndCommand } from './processRecords.ts';
import type { HostEngine, SandboxProgram, WrappedCommand } from './sandbox.ts';
import { createFilter, hasFilter } from './seccomp/filter.ts';
import { startWrapped } from './startWrapped.ts';

const trialMsMax = 10_000;
/** An engine that was just started is slow at first. */
const containerTrialMsMax = 30_000;
const faultCharsMax = 400;

/** The path of a program in PATH. */
function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (folder !== '') return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** Runs a command. Returns its error message, or undefined if it succeeded. */
function tryCommand(wrapped: WrappedCommand, timeout = trialMsMax): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = startWrapped(wrapped, ['ignore', 'ignore', 'pipe'], { timeout });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      if (said.length < faultCharsMax) said += piece;
    });
    child.once('error', () => resolve('it cannot be started'));
    child.once('close', (code) => {
      if (code === 0) return resolve(undefined);
      // Docker prints what it cannot limit before the error.
      const lines = said.trim().slice(0, faultCharsMax).split('\n');
      const line = lines.find((one) => !one.startsWith('WARNING')) ?? '';
      resolve(line || `it ended with ${code === null ? 'a signal, or not in time' : `code ${code}`}`);
    });
  });
}

export type Probed = { readonly engine: HostEngine } | { readonly fault: string };

interface Trial {
  readonly folder: string;
  readonly argv: SandboxProgram['argv'];
  readonly readable: readonly string[];
  readonly timeout: number;
}

/** Runs a program in the sandbox and returns the error message if that fails. */
async function tryInside(
  engine: HostEngine,
  { folder, argv, readable, timeout }: Trial,
): Promise<string | undefined> {
  const folders = { workspace: folder, home: folder };
  const spec = { ...folders, name: 'trial', readable, resourceFactor: 1, image: null };
  const wrapped = engine.wrap(spec, { argv, env: {} }, 'none');
  const fault = await tryCommand(wrapped, timeout);
  if (fault !== undefined && wrapped.end !== undefined) await runEndCommand(wrapped.end);
  return fault;
}

export interface BubblewrapProbe {
  /** Folders of the host that nothing inside may see. */
  readonly hidden: readonly string[];
  /** A folder for the trial. */
  readonly folder: string;
  /** Whether to use the seccomp filter. If it does not work, bubblewrap is not used either. */
  readonly seccomp: boolean;
}

const leaveOut = 'PARLEY_SECCOMP=off runs agents without one';

/** Tests bubblewrap by starting a process. Versions that cannot forbid namespaces are used without that. */
export async function probeBubblewrap({ hidden, folder, seccomp }: BubblewrapProbe): Promise<Probed> {
  const command = findProgram('bwrap');
  if (command === undefined) return { fault: 'bubblewrap (bwrap) is not installed' };
  const { arch } = process;
  if (seccomp && !hasFilter(arch)) return { fault: `there is no seccomp filter for ${arch}; ${leaveOut}` };
  const filter = seccomp && hasFilter(arch) ? createFilter(arch) : undefined;
  let fault = '';
  for (const forbidNamespaces of [true, false]) {
    const engine = createBubblewrap({ command, hidden, forbidNamespaces, filter });
    const said = await tryInside(engine, { folder, argv: ['true'], readable: [], timeout: trialMsMax });
    if (said === undefined) return { engine };
    fault ||= said;
  }
  if (filter !== undefined && 'engine' in (await probeBubblewrap({ hidden, folder, seccomp: false })))
    return { fault: `bubblewrap cannot install the seccomp filter here (${fault}); ${leaveOut}` };
  return { fault: `bubblewrap does not work here (${fault})` };
}

export interface DockerProbe {
  readonly create: (command: string) => HostEngine;
  /** The default image; empty if the operator has named none. */
  readonly image: string;
  /** A folder for the trial. */
  readonly folder: string;
}

/**
 * Tests whether the engine answers. If it has the default image, a container is started as well, which fails if the
 * engine does not see the files of this machine, does not know the runtime, or the image lacks libraries. Nothing is
 * pulled, which may take minutes.
 */
export async function probeDocker({ create, image, folder }: DockerProbe): Promise<Probed> {
  const command = findProgram('docker');
  if (command === undefined) return { fault: 'docker is not installed' };
  if (image === '') return { fault: 'docker has no image, because PARLEY_SANDBOX_IMAGES is not set' };
  const ask = (...args: readonly string[]) =>
    tryCommand({ command, args, env: process.env as Record<string, string> });
  const said = await ask('version', '--format', '{{.Server.Version}}');
  if (said !== undefined) return { fault: `docker does not answer (${said})` };
  const engine = create(command);
  const hasImage = (await ask('image', 'inspect', image)) === undefined;
  // Agents need our Node inside, which not every image has the libraries for.
  const { execPath: node } = process;
  const trial: Trial = { folder, argv: [node, '--version'], readable: [node], timeout: containerTrialMsMax };
  const fault = hasImage ? await tryInside(engine, trial) : undefined;
  return fault === undefined ? { engine } : { fault: `docker cannot run ${image} here (${fault})` };
}
