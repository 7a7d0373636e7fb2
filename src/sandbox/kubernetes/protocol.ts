// The messages between the worker and the supervisor in a pod, apart from the bytes of channels.

/** Increased by changes with which older images do not work. */
export const protocolVersion = 1;

/** If the worker sends nothing for this long, the supervisor ends everything. A lost lease is taken over later than that. */
export const silenceMsMax = 6_000;
export const heartbeatMs = 1_000;
/** How long a pod waits for the first worker. */
export const helloMsMax = 60_000;

/** The port of the bridge in the pod. */
export const bridgePort = 3_128;
/** The files of Parley in the image: the folder `dist` of the package. */
export const imageFolder = '/opt/parley';
export const supervisorFile = `${imageFolder}/supervisor.js`;

/** A program to start. It is sent in the channel of the program, before what the program reads. */
export interface ProgramRequest {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A request begins with its length. */
export const requestSizeBytes = 4;
export const requestBytesMax = 4 * 1_024 * 1_024;

export type FromWorker =
  /** The first message. What the supervisor sends is encrypted with the key, because it is also in the container's log. */
  | { readonly hello: { readonly protocol: number; readonly key: string } }
  | { readonly ping: true }
  /** Ends a program with its descendants. */
  | { readonly kill: number }
  /** Ends whatever does not belong to a program that runs. */
  | { readonly sweep: true }
  | { readonly exit: true };

/** Programs are named by the id of their channel. */
export type FromSupervisor =
  | { readonly hello: { readonly protocol: number; readonly node: string } }
  | { readonly pong: true }
  | { readonly started: number }
  | { readonly failed: number; readonly code: string }
  | { readonly ended: number; readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** What a channel is for. The worker opens programs; the supervisor opens outputs and connections to the bridge. */
export type AboutChannel =
  | { readonly program: true }
  | { readonly output: 'stdout' | 'stderr'; readonly of: number }
  | { readonly bridge: true };
