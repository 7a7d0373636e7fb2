// No boundary at all: agents run as processes of the host with their own environment. docs/sandbox.md says when.
import { addressKibMax } from './entryScript.ts';
import type { HostEngine, SandboxProgram, SandboxSpec, WrappedCommand } from './sandbox.ts';

const path = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';

const limitScript = 'ulimit -v "$1"; shift; exec "$@"';

export const processEngine: HostEngine = {
  kind: 'process',
  bridgeConnection: 'loopback',
  bridgePort: undefined,
  paths: ({ workspace, home }: SandboxSpec) => ({ workspace, home }),
  wrap: (spec: SandboxSpec, program: SandboxProgram): WrappedCommand => {
    const { argv, env, cwd, programs, limitAddressSpace } = program;
    const { workspace, home } = spec;
    const usedPath = env['PATH'] ?? path;
    const [command, ...args] = limitAddressSpace
      ? ['/bin/sh', '-c', limitScript, 'parley', addressKibMax(spec), ...argv]
      : argv;
    return {
      command,
      args,
      env: { HOME: home, ...env, PATH: programs === undefined ? usedPath : `${programs}:${usedPath}` },
      cwd: cwd ?? workspace,
      childrenMayEscape: true,
    };
  },
};
