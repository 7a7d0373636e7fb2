// No boundary at all: a process of the host, with an environment of its own. See docs/sandbox.md for when it is taken.
import { addressKibMax } from './entrance.ts';
import type { Cell, Launch, Sandbox, Wrapped } from './sandbox.ts';

/** What any program needs to find others. */
const path = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';

const limitScript = 'ulimit -v "$1"; shift; exec "$@"';

export const processSandbox: Sandbox = {
  kind: 'process',
  bridgeWay: 'loopback',
  bridgePort: undefined,
  inside: ({ workspace, home }: Cell) => ({ workspace, home }),
  wrap: (cell: Cell, { argv, env, cwd, limitAddressSpace }: Launch): Wrapped => {
    const { workspace, home } = cell;
    const [command, ...args] = limitAddressSpace
      ? ['/bin/sh', '-c', limitScript, 'parley', addressKibMax(cell), ...argv]
      : argv;
    return {
      command,
      args,
      env: { PATH: path, HOME: home, ...env },
      cwd: cwd ?? workspace,
      loose: true,
    };
  },
};
