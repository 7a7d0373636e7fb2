// The usual sandbox: namespaces of its own by bubblewrap, the network's too; the system read-only; only workspace,
// home and temporary files writable.
import { lstatSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programFile } from '../process/program.ts';
import { entryArgv, entryFiles, insidePort, withVariablePrefix } from './entryScript.ts';
import { sharedMemoryBytesMax, temporaryBytesMax } from './limits.ts';
import {
  filterDescriptor,
  type Network,
  type SandboxEngine,
  type SandboxProgram,
  type SandboxSpec,
  type WrappedCommand,
} from './sandbox.ts';
import { hiddenWithin, sandboxPaths } from './sandboxPaths.ts';

const { workspace, home } = sandboxPaths;
const user = '1000';

const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** What programs need of /etc. Not the accounts, the names of hosts or the private keys. */
const systemSettings = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/crypto-policies',
  '/etc/terminfo',
];
const madeUpSettings = ['passwd', 'group', 'hosts', 'nsswitch.conf'];

/** All that is taken from the environment of the service. */
const inherited = ['LANG', 'LC_ALL', 'TZ'];
const path = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

interface BubblewrapOptions {
  /** Where the program is. */
  readonly command: string;
  /** Folders of the host that nothing inside may see, even where they lie in one that can be read: the data folder. */
  readonly hidden: readonly string[];
  /** Whether this bubblewrap can forbid namespaces inside, which older ones cannot. */
  readonly forbidNamespaces: boolean;
  /** The seccomp filter for programs inside; undefined if the operator has turned it off. */
  readonly filter: Buffer | undefined;
}

/** A system folder that is a link stays one. */
function systemArgs(folder: string): string[] {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder];
}

function settingsArgs(): string[] {
  return [
    ...systemSettings.flatMap((file) => ['--ro-bind-try', file, file]),
    ...madeUpSettings.flatMap((name) => [
      '--ro-bind',
      fileURLToPath(programFile(`sandbox/etc/${name}`)),
      `/etc/${name}`,
    ]),
  ];
}

/** Empty folders in place of the hidden ones, where they could be seen at all. */
function hiddenArgs(hidden: readonly string[], readable: readonly string[]): string[] {
  return hiddenWithin(hidden, [...systemFolders, ...readable]).flatMap((folder) => [
    ...['--size', '4096', '--tmpfs', folder, '--remount-ro', folder],
  ]);
}

/** Later mounts lie over earlier ones, so the order counts. What is made on the way is read-only at the end. */
function mountArgs(spec: SandboxSpec, hidden: readonly string[], bridged: boolean): string[] {
  return [
    ...systemFolders.flatMap(systemArgs),
    ...settingsArgs(),
    // Where root starts the service, who is inside owns the switches of the kernel in /proc, capabilities or not.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--size', String(sharedMemoryBytesMax), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(temporaryBytesMax), '--perms', '1777', '--tmpfs', '/tmp'],
    ...['--symlink', '/tmp', '/var/tmp', '--dir', '/run'],
    ...spec.readable.flatMap((file) => ['--ro-bind', file, file]),
    ...hiddenArgs(hidden, spec.readable),
    ...(bridged ? entryFiles.flatMap(([from, to]) => ['--ro-bind', from, to]) : []),
    ...['--bind', spec.workspace, workspace, '--bind', spec.home, home],
    ...['--remount-ro', '/'],
  ];
}

function environmentOf(program: SandboxProgram): Record<string, string> {
  const taken = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(taken),
    PATH: path,
    HOME: home,
    USER: 'agent',
    TMPDIR: '/tmp',
    ...program.env,
  };
}

export function createBubblewrap(options: BubblewrapOptions): SandboxEngine {
  const { command, hidden, forbidNamespaces, filter } = options;
  return {
    kind: 'bubblewrap',
    bridgeConnection: 'handover',
    bridgePort: insidePort,
    paths: () => sandboxPaths,
    wrap: (spec: SandboxSpec, program: SandboxProgram, network: Network): WrappedCommand => {
      const env = environmentOf(program);
      const bridged = network !== 'none';
      return {
        command,
        args: [
          ...['--unshare-all', '--unshare-user', '--uid', user, '--gid', user, '--hostname', 'parley'],
          ...['--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
          ...(forbidNamespaces ? ['--disable-userns'] : []),
          ...(filter === undefined ? [] : ['--seccomp', String(filterDescriptor)]),
          ...mountArgs(spec, hidden, bridged),
          ...['--chdir', program.cwd ?? workspace],
          '--',
          ...entryArgv(spec, program, { env, way: bridged ? 'handover' : 'none' }),
        ],
        env: withVariablePrefix(env),
        ...(filter === undefined ? {} : { filter }),
      };
    },
  };
}
