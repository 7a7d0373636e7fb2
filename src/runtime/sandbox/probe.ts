// What sandboxes there are on this machine, found out by trying them.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createBubblewrap } from './bubblewrap.ts';
import type { Sandbox } from './sandbox.ts';

const trialMsMax = 10_000;
const words = 400;

/** Where a program is, in the folders of PATH. */
function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (folder !== '') return file;
    } catch {
      // Not here.
    }
  }
  return undefined;
}

/** What a command said against it, undefined where it ended well. */
function tryCommand(
  command: string,
  args: readonly string[],
  env = process.env,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: trialMsMax });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      if (said.length < words) said += piece;
    });
    child.once('error', () => resolve('it cannot be started'));
    child.once('close', (code) => {
      if (code === 0) return resolve(undefined);
      const [line = ''] = said.trim().slice(0, words).split('\n');
      resolve(line || `it ended with ${code === null ? 'a signal, or not in time' : `code ${code}`}`);
    });
  });
}

export type Probed = { readonly sandbox: Sandbox } | { readonly fault: string };

/** Bubblewrap, tried with a launch in `folder`. Older ones cannot forbid namespaces; they are taken without it. */
export async function probeBubblewrap(hidden: readonly string[], folder: string): Promise<Probed> {
  const command = findProgram('bwrap');
  if (command === undefined) return { fault: 'bubblewrap (bwrap) is not installed' };
  let fault = '';
  for (const forbidNamespaces of [true, false]) {
    const sandbox = createBubblewrap({ command, hidden, forbidNamespaces });
    const cell = {
      workspace: folder,
      home: folder,
      name: 'trial',
      readable: [],
      resourceFactor: 1,
      image: null,
    };
    const trial = sandbox.wrap(cell, { argv: ['true'], env: {} }, 'none');
    const said = await tryCommand(trial.command, trial.args, trial.env);
    if (said === undefined) return { sandbox };
    fault ||= said;
  }
  return { fault: `bubblewrap does not work here (${fault})` };
}

/** Whether the engine answers; containers are not tried, for the image may have to be fetched. */
export async function probeDocker(create: (command: string) => Sandbox): Promise<Probed> {
  const command = findProgram('docker');
  if (command === undefined) return { fault: 'docker is not installed' };
  const said = await tryCommand(command, ['version', '--format', '{{.Server.Version}}']);
  return said === undefined ? { sandbox: create(command) } : { fault: `docker does not answer (${said})` };
}
