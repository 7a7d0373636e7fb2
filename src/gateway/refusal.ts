// Requests that the gateway refuses, with a message.

/** This status ends the turn in every agent that was tried; others make them retry. */
export const paymentRequired = 402;

interface RefusalOptions {
  readonly status?: number;
  /** The user knows already, or does not need to know. */
  readonly silent?: boolean;
}

/** A request that is refused. The message is for the agent, and for the user unless it is `silent`. */
export class Refusal extends Error {
  readonly status: number;
  readonly silent: boolean;

  constructor(sentence: string, { status = paymentRequired, silent = false }: RefusalOptions = {}) {
    super(sentence);
    this.status = status;
    this.silent = silent;
  }
}
