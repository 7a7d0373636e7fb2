// Timeouts for model providers, so that no provider can block a run for ever.

export interface GatewayTimes {
  readonly connectMs: number;
  /** Until the head of the answer, and from there until its first piece. Models may think for long. */
  readonly firstByteMs: number;
  /** Between two pieces of an answer. */
  readonly silenceMs: number;
  /** Between two pieces with data, if others only keep the connection alive. */
  readonly keptAliveMs: number;
  /** From the head of an answer to its end. */
  readonly answerMs: number;
  /** Before the second attempt. The delay doubles with each further one. */
  readonly firstPauseMs: number;
  readonly pauseMsMax: number;
}

/** The bridge closes idle connections after 15 minutes. These expire first, so that the log can say why. */
export const defaultTimes: GatewayTimes = {
  connectMs: 15_000,
  firstByteMs: 10 * 60_000,
  silenceMs: 5 * 60_000,
  keptAliveMs: 20 * 60_000,
  answerMs: 60 * 60_000,
  firstPauseMs: 1_000,
  pauseMsMax: 30_000,
};
