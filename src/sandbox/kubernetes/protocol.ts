// The messages between the worker and the supervisor in a pod, apart from the bytes of channels.

/** Increased by changes with which older images do not work. */
export const protocolVersion = 2;

/**
 * Without a heartbeat for this long, the supervisor ends all programs. A lost lease is taken over later than that. A worker
 * whose stream breaks has as long to attach again.
 */
export const silenceMsMax = 6_000;
/** How long the pod then waits, with its files, for the worker that continues the conversation. */
export const takeoverMsMax = 60_000;
export const heartbeatMs = 1_000;
/** How long a pod waits for the first worker, unless it was created in advance. */
const helloMsMax = 60_000;
/** Set in pods that are created in advance. */
export const warmVariable = 'PARLEY_WARM';

/** How long a pod with this environment waits for the first worker; undefined for as long as it takes. */
export function firstWaitMs(env: Readonly<Record<string, string | undefined>>): number | undefined {
  return env[warmVariable] === '1' ? undefined : helloMsMax;
}

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

/** Marks the very first hello in a pod. It is the same in all versions, so that each can say that it is another one. */
export const firstMark: Buffer = Buffer.from('parley: hello 1\n');

/**
 * The worker sends it at the beginning of each stream. A session may have many streams, one after the other: a hello of the
 * session that the supervisor has, with a higher epoch than before, continues it, and makes what older streams still deliver
 * useless. A hello of another session is accepted only if `isNew` is set, and begins anew.
 */
export interface Hello {
  readonly protocol: number;
  /** Marks all packets from then on, in base64. Whoever knows it may speak to the supervisor. */
  readonly mark: string;
  readonly session: string;
  readonly isNew: boolean;
  /** What the supervisor sends in this stream is encrypted with it, because it is also in the container's log. */
  readonly key: string;
}

/** The answer to a hello. */
export interface Welcome {
  readonly protocol: number;
  /** The path of Node in the pod. */
  readonly node: string;
}

export type FromWorker =
  /** Ends a program with its descendants. */
  | { readonly kill: number }
  /** Ends whatever does not belong to a program that runs. */
  | { readonly sweep: true }
  | { readonly exit: true };

/** Programs are named by the id of their channel. */
export type FromSupervisor =
  | { readonly started: number }
  | { readonly failed: number; readonly code: string }
  | { readonly ended: number; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** The last message: no heartbeats have come, all programs have ended, and another worker may take over. */
  | { readonly released: true };

/** What a channel is for. The worker opens programs; the supervisor opens outputs and connections to the bridge. */
export type AboutChannel =
  | { readonly program: true }
  | { readonly output: 'stdout' | 'stderr'; readonly of: number }
  | { readonly bridge: true };
