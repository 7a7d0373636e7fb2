// What a sandbox is to the rest: a way to write a command so that it runs confined. Argv in, argv out.

export const sandboxKinds = ['bubblewrap', 'docker', 'process'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** What one run, or one look at a workspace, is confined to. Paths are those of the host. */
export interface Cell {
  /** Unique among all that live; names containers and control groups. */
  readonly name: string;
  /** Writable inside. */
  readonly workspace: string;
  /** Writable inside, and kept from run to run. */
  readonly home: string;
  /** Files and folders of the host that can be read inside under the same path: the programs of an agent. */
  readonly readable: readonly string[];
  /** Scales the limits of memory and processes; 1 is the usual. */
  readonly resourceFactor: number;
  /** The image of a container; null for the usual one. */
  readonly image: string | null;
}

/** A program to start inside. */
export interface Launch {
  readonly argv: readonly [program: string, ...args: string[]];
  /** All that it gets of an environment, beside what the sandbox itself needs. Never part of an argv. */
  readonly env: Readonly<Record<string, string>>;
  /** As seen from inside; the workspace where absent. */
  readonly cwd?: string;
}

/** The cell as seen from inside. */
export interface Inside {
  readonly workspace: string;
  readonly home: string;
}

/** What to start on the host. */
export interface Wrapped {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Sandbox {
  readonly kind: SandboxKind;
  /**
   * The port on which programs inside find the bridge, where the sandbox has a network of its own. Its listener is
   * handed out by the program `inside.ts`, which `wrap` then starts first. Undefined: the network is the host's.
   */
  readonly bridgePort: number | undefined;
  inside(cell: Cell): Inside;
  wrap(cell: Cell, launch: Launch, network: 'none' | 'bridge'): Wrapped;
}
