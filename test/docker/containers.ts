// Containers of the service in tests.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parleyImage } from '../support/dockerImages.ts';
import { freePort } from '../support/ports.ts';
import { projectDir } from '../support/program.ts';
import { type Answer, type Ask, ask } from '../support/service.ts';
import { until } from '../support/until.ts';
import { engine } from './setup.ts';

const readyWithinMs = 30_000;

/** As docs/deploy.md shows it. */
export const confinement = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL'];
export const sandboxOptions = [
  ...['--security-opt', 'no-new-privileges'],
  ...['--security-opt', `seccomp=${join(projectDir, 'deploy/seccomp.json')}`],
  ...['--security-opt', 'systempaths=unconfined'],
];

export interface ParleyContainer {
  readonly name: string;
  readonly url: string;
  /** Runs a command in the container. */
  exec(...command: readonly string[]): Promise<string>;
  /** What it wrote so far. */
  logs(): Promise<string>;
  /** Waits until it is ready, and returns the owner's API key. */
  ready(): Promise<string>;
  ask(path: string, asked?: Ask): Promise<Answer>;
}

/** Starts the image in the network of the machine. It is removed when the test ends. */
export async function startContainer(
  t: TestContext,
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ParleyContainer> {
  const { docker } = engine();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const name = `parley-${randomBytes(4).toString('hex')}`;
  const variables = Object.entries({ PORT: String(port), ...env }).flatMap(([key, value]) => [
    '--env',
    `${key}=${value}`,
  ]);
  await docker('run', '--detach', '--name', name, '--network', 'host', ...options, ...variables, parleyImage);
  t.after(async () => void (await docker('rm', '--force', '--volumes', name)));
  const exec = (...command: readonly string[]) => docker('exec', name, ...command);
  let key = '';
  return {
    name,
    url,
    exec,
    logs: () => docker('logs', name),
    ready: async () => {
      await until(
        'the container is ready',
        async () => (await fetch(`${url}/ready`).catch(() => undefined))?.ok === true,
        readyWithinMs,
      );
      key = (await exec('cat', '/data/owner.key')).trim();
      return key;
    },
    ask: (path, asked = {}) => ask(url, path, { key, ...asked }),
  };
}
