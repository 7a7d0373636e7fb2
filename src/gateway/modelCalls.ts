// What metrics and traces learn about each model request that is sent to a provider.
import { providerOf } from '../models/providers.ts';
import type { Tokens } from './protocols/protocol.ts';

/** Why a request failed in the end. */
export type ModelFailure =
  | 'rejected'
  | 'rate_limited'
  | 'server_error'
  | 'unreachable'
  | 'timeout'
  | 'interrupted'
  | 'invalid'
  | 'too_large';

export interface ModelCallResult {
  /** The status of the provider's last response. */
  readonly status?: number;
  readonly tokens?: Tokens;
  /** Absent if it succeeded, or if nobody waits for it any more. */
  readonly failure?: ModelFailure;
}

export interface OpenModelCall {
  /** An attempt has failed and is repeated. */
  onRetry(): void;
  end(result: ModelCallResult): void;
}

/** Called before a request is sent, with the user's name of the model. */
export type ObserveModelCall = (model: string) => OpenModelCall;

const rateLimited = 429;
const firstServerError = 500;

export function failureOfStatus(status: number): ModelFailure {
  if (status === rateLimited) return 'rate_limited';
  return status >= firstServerError ? 'server_error' : 'rejected';
}

/** Names of other models may contain what users choose. */
const otherProvider = 'other';

/** One of the known providers, or `other`. */
export function providerLabel(model: string | null | undefined): string {
  return providerOf(model ?? null) ?? otherProvider;
}

export function observeWithAll(observers: readonly ObserveModelCall[]): ObserveModelCall {
  return (model) => {
    const calls = observers.map((observe) => observe(model));
    return {
      onRetry: () => {
        for (const call of calls) call.onRetry();
      },
      end: (result) => {
        for (const call of calls) call.end(result);
      },
    };
  };
}
