// Requests that the gateway refuses, with a message.
import type { ModelFailure } from './modelCalls.ts';

/** This status ends the turn in every agent that was tried; others make them retry. */
export const paymentRequired = 402;

interface RefusalOptions {
  readonly status?: number;
  /** The user knows already, or does not need to know. */
  readonly silent?: boolean;
  /** How the provider failed, if it did. */
  readonly failure?: ModelFailure;
}

/** A request that is refused. The message is for the agent, and for the user unless it is `silent`. */
export class Refusal extends Error {
  readonly status: number;
  readonly silent: boolean;
  readonly failure: ModelFailure | undefined;

  constructor(sentence: string, { status = paymentRequired, silent = false, failure }: RefusalOptions = {}) {
    super(sentence);
    this.status = status;
    this.silent = silent;
    this.failure = failure;
  }
}
