// The sandbox if there is a container engine but no bubblewrap: each process gets its own container without network.
import { randomBytes } from 'node:crypto';
import { entryArgv, entryFiles, insidePort, insideSocket, withVariablePrefix } from './entryScript.ts';
import {
  fileBytesMax,
  limitsOf,
  oomScoreAdjustment,
  openFilesMax,
  sharedMemoryBytesMax,
  temporaryBytesMax,
} from './limits.ts';
import type {
  HostCommand,
  HostEngine,
  Network,
  SandboxProgram,
  SandboxSpec,
  WrappedCommand,
} from './sandbox.ts';
import { hiddenWithin, sandboxPaths } from './sandboxPaths.ts';

const { workspace, home } = sandboxPaths;

/** What the engine's client needs from the service's environment. None of it enters a container. */
const clientVariables = [
  'PATH',
  'HOME',
  'XDG_RUNTIME_DIR',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'DOCKER_TLS_VERIFY',
  'DOCKER_CERT_PATH',
];

interface DockerOptions {
  /** The path or name of the client. */
  readonly command: string;
  /** The default image. Its programs must be linked against glibc, because ours are. */
  readonly image: string;
  /** The runtime of containers, such as runsc; undefined for the engine's default. */
  readonly runtime: string | undefined;
  /** Folders of the host that must stay hidden inside, even within a readable one: the data folder. */
  readonly hidden: readonly string[];
}

interface Mount {
  readonly from: string;
  readonly to: string;
  readonly readonly: boolean;
}

/** The value of `--mount` is a line of CSV. */
function mountArg(fields: readonly string[]): string[] {
  const quoted = fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field));
  return ['--mount', quoted.join(',')];
}

function bindArgs({ from, to, readonly }: Mount): string[] {
  return mountArg(['type=bind', `source=${from}`, `target=${to}`, ...(readonly ? ['readonly'] : [])]);
}

/** Mounts an empty folder over each hidden one that would be visible. */
function hiddenArgs(hidden: readonly string[], { readable }: SandboxSpec): string[] {
  return hiddenWithin(hidden, readable).flatMap((folder) =>
    mountArg(['type=tmpfs', `target=${folder}`, 'tmpfs-size=4096', 'readonly']),
  );
}

function mountsOf(spec: SandboxSpec, network: Network): Mount[] {
  const read = (from: string, to: string): Mount => ({ from, to, readonly: true });
  return [
    { from: spec.workspace, to: workspace, readonly: false },
    { from: spec.home, to: home, readonly: false },
    ...spec.readable.map((path) => read(path, path)),
    ...(typeof network === 'object'
      ? [...entryFiles.map(([from, to]) => read(from, to)), read(network.socket, insideSocket)]
      : []),
  ];
}

function limitArgs(spec: SandboxSpec): string[] {
  const { memoryBytesMax, processesMax, processorsMax } = limitsOf(spec);
  return [
    ...['--pids-limit', String(processesMax), '--cpus', String(processorsMax)],
    // Equal values disable swap.
    ...['--memory', String(memoryBytesMax), '--memory-swap', String(memoryBytesMax)],
    ...['--oom-score-adj', String(oomScoreAdjustment)],
    ...['--tmpfs', `/tmp:rw,exec,nosuid,nodev,size=${temporaryBytesMax}`],
    ...['--shm-size', String(sharedMemoryBytesMax)],
    ...['--ulimit', 'core=0', '--ulimit', `nofile=${openFilesMax}`, '--ulimit', `fsize=${fileBytesMax}`],
  ];
}

/** The files of a sandbox belong to the user of the service, so programs run as that user. */
const userArgs = ['--user', `${process.getuid?.() ?? 1_000}:${process.getgid?.() ?? 1_000}`];

const confinement = [
  ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--read-only'],
  ...['--network', 'none', '--hostname', 'parley', '--ipc', 'private'],
];

export function createDocker({ command, image, runtime, hidden }: DockerOptions): HostEngine {
  const clientEnv = () =>
    Object.fromEntries(
      clientVariables.flatMap((name) => {
        const value = process.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );

  return {
    kind: 'docker',
    bridgeConnection: 'socket',
    bridgePort: insidePort,
    paths: () => sandboxPaths,
    wrap: (spec: SandboxSpec, program: SandboxProgram, network: Network): WrappedCommand => {
      // A sandbox may have several processes at once.
      const name = `parley-${spec.name}-${randomBytes(4).toString('hex')}`;
      const env = { HOME: home, USER: 'agent', TMPDIR: '/tmp', ...program.env };
      const travelling = withVariablePrefix(env);
      const [entrance = '', ...entranceArgs] = entryArgv(spec, program, {
        env,
        way: network === 'none' ? 'none' : 'socket',
      });
      const end: HostCommand = { command, args: ['rm', '--force', name], env: clientEnv() };
      return {
        command,
        args: [
          ...[
            'run',
            '--interactive',
            '--rm',
            '--init',
            '--name',
            name,
            '--label',
            `parley.sandbox=${spec.name}`,
          ],
          ...(runtime === undefined ? [] : ['--runtime', runtime]),
          ...['--pull', 'missing', ...confinement, ...userArgs, ...limitArgs(spec)],
          ...mountsOf(spec, network).flatMap(bindArgs),
          ...hiddenArgs(hidden, spec),
          // Only names, because the client takes the values from its own environment.
          ...Object.keys(travelling).flatMap((variable) => ['--env', variable]),
          ...['--workdir', program.cwd ?? workspace, '--entrypoint', entrance, spec.image ?? image],
          ...entranceArgs,
        ],
        env: { ...clientEnv(), ...travelling },
        end,
      };
    },
  };
}
