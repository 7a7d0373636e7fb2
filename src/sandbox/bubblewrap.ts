// The default sandbox: bubblewrap with its own namespaces, including the network; the system is read-only, and only the
// workspace, the home and temporary files are writable.
import { lstatSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programFile } from '../process/program.ts';
import { entryArgv, entryFiles, insidePort, withVariablePrefix } from './entryScript.ts';
import { sharedMemoryBytesMax, temporaryBytesMax } from './limits.ts';
import {
  filterDescriptor,
  type HostEngine,
  type Network,
  type SandboxProgram,
  type SandboxSpec,
  type WrappedCommand,
} from './sandbox.ts';
import { contains, hiddenWithin, sandboxPaths } from './sandboxPaths.ts';

const { workspace, home } = sandboxPaths;
const user = '1000';

const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** What programs need from /etc, without accounts, host names and private keys. */
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

/** The only variables that are taken from the service's environment. */
const inherited = ['LANG', 'LC_ALL', 'TZ'];
const path = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

interface BubblewrapOptions {
  /** The path of the program. */
  readonly command: string;
  /** Folders of the host that must stay hidden inside, even within a readable one: the data folder. */
  readonly hidden: readonly string[];
  /** Whether this version of bubblewrap can forbid namespaces inside. */
  readonly forbidNamespaces: boolean;
  /** The seccomp filter for programs inside; undefined if the operator has turned it off. */
  readonly filter: Buffer | undefined;
}

/** A system folder that is a symbolic link stays one. */
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

function readableArgs(readable: readonly string[]): string[] {
  return readable.flatMap((file) => ['--ro-bind', file, file]);
}

/** Mounts an empty folder over each hidden one that would be visible, except for what is readable in it. */
function hiddenArgs(hidden: readonly string[], readable: readonly string[]): string[] {
  return hiddenWithin(hidden, [...systemFolders, ...readable]).flatMap((folder) => [
    ...['--size', '4096', '--tmpfs', folder],
    ...readableArgs(readable.filter((file) => file !== folder && contains(folder, file))),
    ...['--remount-ro', folder],
  ]);
}

/** The order matters, because later mounts cover earlier ones. Folders created on the way are read-only at the end. */
function mountArgs(spec: SandboxSpec, hidden: readonly string[], bridged: boolean): string[] {
  return [
    ...systemFolders.flatMap(systemArgs),
    ...settingsArgs(),
    // If root starts the service, the user inside owns the kernel switches in /proc, with or without capabilities.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--size', String(sharedMemoryBytesMax), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(temporaryBytesMax), '--perms', '1777', '--tmpfs', '/tmp'],
    ...['--symlink', '/tmp', '/var/tmp', '--dir', '/run'],
    ...readableArgs(spec.readable),
    ...hiddenArgs(hidden, spec.readable),
    ...(bridged ? entryFiles.flatMap(([from, to]) => ['--ro-bind', from, to]) : []),
    ...['--bind', spec.workspace, workspace],
    // A mount point cannot be renamed, removed or replaced inside.
    ...(spec.readOnly ?? []).flatMap((name) => [
      '--ro-bind',
      `${spec.workspace}/${name}`,
      `${workspace}/${name}`,
    ]),
    ...['--bind', spec.home, home],
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

export function createBubblewrap(options: BubblewrapOptions): HostEngine {
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
