// No boundary at all: a process of the host, with an environment of its own. See docs/sandbox.md for when it is taken.
import type { Cell, Launch, Sandbox, Wrapped } from './sandbox.ts';

/** What any program needs to find others. */
const path = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';

export const processSandbox: Sandbox = {
  kind: 'process',
  bridgeWay: 'loopback',
  bridgePort: undefined,
  inside: ({ workspace, home }: Cell) => ({ workspace, home }),
  wrap: ({ workspace, home }: Cell, { argv: [command, ...args], env, cwd }: Launch): Wrapped => ({
    command,
    args,
    env: { PATH: path, HOME: home, ...env },
    cwd: cwd ?? workspace,
    loose: true,
  }),
};
