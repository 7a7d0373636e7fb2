// The interface of sandboxes: an engine rewrites a command so that it runs confined.

export type SandboxKind = 'bubblewrap' | 'docker' | 'process';

/** What one run, or one inspection of a workspace, is confined to. Paths are paths of the host. */
export interface SandboxSpec {
  /** Unique among all open sandboxes; names containers and cgroups. */
  readonly name: string;
  /** Writable inside. */
  readonly workspace: string;
  /** Paths in the workspace that cannot be changed inside. Only bubblewrap supports them. */
  readonly readOnly?: readonly string[];
  /** Writable inside, and kept between runs. */
  readonly home: string;
  /** Files and folders of the host that can be read inside under the same path, such as the programs of an agent. */
  readonly readable: readonly string[];
  /** Scales the limits on memory and processes; 1 is the default. */
  readonly resourceFactor: number;
  /** The container image; null for the default. */
  readonly image: string | null;
}

/** A program to start in a sandbox. */
export interface SandboxProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Its whole environment, except for what the sandbox itself adds. It never appears in an argv. */
  readonly env: Readonly<Record<string, string>>;
  /** A path inside the sandbox; the workspace by default. */
  readonly cwd?: string;
  /** A folder inside the sandbox that comes first in its PATH. */
  readonly programs?: string;
  /** The program needs no network, and starts faster without. */
  readonly offline?: boolean;
  /**
   * Its address space is limited where no cgroup limits memory. Not for programs that reserve more than they use, as
   * V8 does.
   */
  readonly limitAddressSpace?: boolean;
}

/** Paths inside the sandbox. */
export interface SandboxPaths {
  readonly workspace: string;
  readonly home: string;
}

/** A command on the host. */
export interface HostCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The command to start on the host. */
export interface WrappedCommand extends HostCommand {
  readonly cwd?: string;
  /** A command that ends it reliably, if killing the started process does not. */
  readonly end?: HostCommand;
  /** No namespace or container holds its child processes, so they have to be searched for. */
  readonly childrenMayEscape?: true;
  /** The seccomp filter for the program, which the command reads from `filterDescriptor`. */
  readonly filter?: Buffer;
}

/** Descriptor 3 is the channel to the service. The entry script closes both before the agent starts. */
export const filterDescriptor = 4;

/**
 * How programs inside reach the bridge: over a listener that `inside.ts` opens in the sandbox and hands out, over a
 * socket of the host that it forwards to, or over the loopback interface that they share with the host.
 */
export type BridgeConnection = 'handover' | 'socket' | 'loopback';

/** The network of a process; `socket` is the path of the bridge's socket on the host. */
export type Network = 'none' | 'bridge' | { readonly socket: string };

export interface SandboxEngine {
  readonly kind: SandboxKind;
  readonly bridgeConnection: BridgeConnection;
  /** The port of the bridge inside; undefined if it is the port on the host. */
  readonly bridgePort: number | undefined;
  paths(spec: SandboxSpec): SandboxPaths;
  /** Throws if the name of a variable is not valid. */
  wrap(spec: SandboxSpec, program: SandboxProgram, network: Network): WrappedCommand;
}
