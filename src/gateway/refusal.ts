// Requests that the gateway answers itself, with a sentence.

/** Ends the turn of every agent that was tried; others make them retry. */
export const paymentRequired = 402;

interface RefusalWays {
  readonly status?: number;
  /** The user has heard of it in another way, or need not. */
  readonly untold?: boolean;
}

/** A request that cannot be answered; its sentence is for the agent, and for the user unless it is `untold`. */
export class Refusal extends Error {
  readonly status: number;
  readonly untold: boolean;

  constructor(sentence: string, { status = paymentRequired, untold = false }: RefusalWays = {}) {
    super(sentence);
    this.status = status;
    this.untold = untold;
  }
}
