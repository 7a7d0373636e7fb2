// Limits on what one run may take from its model and from the process that it shares with other runs.
import { mib } from '../validation/schema.ts';

export interface GatewayBounds {
  /** Concurrent model requests of a run. More wait. */
  readonly requestsMax: number;
  /** Waiting requests: as many as a bridge has connections. More are answered with 429. */
  readonly waitingMax: number;
  /** For all answers of a run together. Faster ones are read more slowly. */
  readonly bytesPerSecondMax: number;
  /** The share of CPU time that handling them may take. */
  readonly busyShareMax: number;
  readonly answerBytesMax: number;
  readonly lineBytesMax: number;
}

export const defaultBounds: GatewayBounds = {
  requestsMax: 16,
  waitingMax: 256,
  bytesPerSecondMax: 32 * mib,
  busyShareMax: 0.25,
  answerBytesMax: 64 * mib,
  lineBytesMax: 8 * mib,
};
