// How long a provider of models is waited for: nothing that it does, or does not do, may hold a run for ever.

export interface GatewayTimes {
  readonly connectMs: number;
  /** Until the head of the answer, and from there until its first piece: models think long. */
  readonly firstByteMs: number;
  /** Between two pieces of an answer. */
  readonly silenceMs: number;
  /** Between two that have data in them, where others keep the connection alive. */
  readonly keptAliveMs: number;
  /** From the head of an answer to its end. */
  readonly answerMs: number;
  /** Before the second attempt; longer before each further one. */
  readonly firstPauseMs: number;
  readonly pauseMsMax: number;
}

/** The bridge ends what is silent for 15 minutes: these come first, so that the log can say why. */
export const usualTimes: GatewayTimes = {
  connectMs: 15_000,
  firstByteMs: 10 * 60_000,
  silenceMs: 5 * 60_000,
  keptAliveMs: 20 * 60_000,
  answerMs: 60 * 60_000,
  firstPauseMs: 1_000,
  pauseMsMax: 30_000,
};
