// How much one run may have of its model, and of the process that it shares with others.
import { mib } from '../validation/schema.ts';

export interface GatewayBounds {
  /** Model requests of a run at the same time; more wait. */
  readonly requestsMax: number;
  /** Those that wait: as many as a bridge has connections. More are told to try again. */
  readonly waitingMax: number;
  /** Of all answers of a run together: what comes faster is read more slowly. */
  readonly bytesPerSecondMax: number;
  /** Of the time of the process, for whatever is done with them. */
  readonly busyShareMax: number;
  readonly answerBytesMax: number;
  readonly lineBytesMax: number;
}

export const usualBounds: GatewayBounds = {
  requestsMax: 16,
  waitingMax: 256,
  bytesPerSecondMax: 32 * mib,
  busyShareMax: 0.25,
  answerBytesMax: 64 * mib,
  lineBytesMax: 8 * mib,
};
