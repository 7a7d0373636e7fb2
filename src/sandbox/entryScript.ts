// The shell script that runs first in a sandbox: it sets process limits, opens the connection to the bridge, exports
// the environment, and executes the program.
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../process/program.ts';
import { kib } from '../validation/schema.ts';
import { fileBytesMax, limitsOf, openFilesMax } from './limits.ts';
import type { BridgeConnection, SandboxProgram, SandboxSpec } from './sandbox.ts';

/** The port of the bridge inside. */
export const insidePort = 3_128;
/** The path of the bridge's socket inside, for forwarding. */
export const insideSocket = '/run/parley/bridge.sock';

const folder = '/opt/parley';
const insideNode = `${folder}/node`;
const insideSource = fileURLToPath(programFile('bridge/inside.ts'));
/** The extension spares Node the search for a package.json. */
const insideFile = `${folder}/${basename(insideSource).replace('.', '.m')}`;

/** Files of the host that the connection to the bridge needs inside: from, to. */
export const entryFiles: readonly (readonly [from: string, to: string])[] = [
  [process.execPath, insideNode],
  [insideSource, insideFile],
];

/**
 * Variables have this prefix until they are inside. Otherwise a user's variable such as LD_PRELOAD would affect the
 * programs of the host that create the sandbox.
 */
const prefix = 'PARLEY_VAR_';
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The variables with the prefix. Throws if the shell could not export one. */
export function withVariablePrefix(env: Readonly<Record<string, string>>): Record<string, string> {
  const travelling: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!namePattern.test(name))
      throw new Error('The name of an environment variable must be letters, digits and underscores.');
    travelling[prefix + name] = value;
  }
  return travelling;
}

// A limit that cannot be set is lower already. Shells differ in the letter for processes. The connection to the bridge
// is opened before the program's variables are exported, because one such as LD_PRELOAD would affect the program that
// holds the channel. That channel is descriptor 3, which the program must not get, nor any other open one. The
// forwarder closes its output when it listens, and the substitution waits for that.
const script = `
ulimit -c 0
ulimit -n ${openFilesMax} 2>/dev/null || :
ulimit -f ${fileBytesMax / 512} 2>/dev/null || :
ulimit -u "$2" 2>/dev/null || ulimit -p "$2" 2>/dev/null || :
case $3 in
handover) NODE_OPTIONS= ${insideNode} ${insideFile} ${insidePort} </dev/null >/dev/null || exit 127 ;;
socket) : "$(NODE_OPTIONS= ${insideNode} ${insideFile} ${insidePort} ${insideSocket} </dev/null &)" ;;
esac
for parley_n in $1; do
  eval "parley_v=\\$${prefix}$parley_n"
  unset "${prefix}$parley_n"
  command export "$parley_n=$parley_v" || :
done
unset parley_n parley_v NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
[ "$4" = unlimited ] || ulimit -v "$4" 2>/dev/null || :
[ -z "$5" ] || export PATH="$5:$PATH"
shift 5
command -v "$1" >/dev/null || { echo "There is no program $1 in the sandbox." >&2; exit 127; }
exec "$@" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
`;

/** As `ulimit -v` counts. */
export function addressKibMax(spec: SandboxSpec): string {
  return String(Math.floor(limitsOf(spec).addressBytesMax / kib));
}

interface EntryOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly way: BridgeConnection | 'none';
  /** Of the user. Not limited where others have the same one. */
  readonly processesMax?: number | 'unlimited';
}

/** The argv inside that ends in the process. The variables of `env` must be there as `withVariablePrefix` has them. */
export function entryArgv(
  spec: SandboxSpec,
  { argv, limitAddressSpace, programs = '' }: Pick<SandboxProgram, 'argv' | 'limitAddressSpace' | 'programs'>,
  { env, way, processesMax = limitsOf(spec).processesMax }: EntryOptions,
): string[] {
  const address = limitAddressSpace ? addressKibMax(spec) : 'unlimited';
  const names = Object.keys(env).join(' ');
  return ['/bin/sh', '-c', script, 'parley', names, String(processesMax), way, address, programs, ...argv];
}
