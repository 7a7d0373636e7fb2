// Finds out which sandboxes work on this machine by trying them.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createBubblewrap } from './bubblewrap.ts';
import type { SandboxEngine, WrappedCommand } from './sandbox.ts';
import { createFilter, hasFilter } from './seccomp/filter.ts';
import { startWrapped } from './startWrapped.ts';

const trialMsMax = 10_000;
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
function tryCommand(wrapped: WrappedCommand): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = startWrapped(wrapped, ['ignore', 'ignore', 'pipe'], { timeout: trialMsMax });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      if (said.length < faultCharsMax) said += piece;
    });
    child.once('error', () => resolve('it cannot be started'));
    child.once('close', (code) => {
      if (code === 0) return resolve(undefined);
      const [line = ''] = said.trim().slice(0, faultCharsMax).split('\n');
      resolve(line || `it ended with ${code === null ? 'a signal, or not in time' : `code ${code}`}`);
    });
  });
}

export type Probed = { readonly engine: SandboxEngine } | { readonly fault: string };

/** Runs `true` in the sandbox and returns the error message if that fails. */
function tryInside(engine: SandboxEngine, folder: string): Promise<string | undefined> {
  const folders = { workspace: folder, home: folder };
  const spec = { ...folders, name: 'trial', readable: [], resourceFactor: 1, image: null };
  return tryCommand(engine.wrap(spec, { argv: ['true'], env: {} }, 'none'));
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
    const said = await tryInside(engine, folder);
    if (said === undefined) return { engine };
    fault ||= said;
  }
  if (filter !== undefined && 'engine' in (await probeBubblewrap({ hidden, folder, seccomp: false })))
    return { fault: `bubblewrap cannot install the seccomp filter here (${fault}); ${leaveOut}` };
  return { fault: `bubblewrap does not work here (${fault})` };
}

/** Tests whether the engine answers. No container is started, because the image may have to be pulled first. */
export async function probeDocker(create: (command: string) => SandboxEngine): Promise<Probed> {
  const command = findProgram('docker');
  if (command === undefined) return { fault: 'docker is not installed' };
  const args = ['version', '--format', '{{.Server.Version}}'];
  const said = await tryCommand({ command, args, env: process.env as Record<string, string> });
  return said === undefined ? { engine: create(command) } : { fault: `docker does not answer (${said})` };
}
