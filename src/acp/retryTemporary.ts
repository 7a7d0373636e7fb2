// Retries a request that may be sent more than once, for as long as the service cannot be reached.
import { isTemporary } from '../client/errors.ts';
import { ParleyError } from '../client/parley.ts';
import { backOffMs, pause } from '../client/pause.ts';

const firstMs = 200;
const maxMs = 5_000;

/** Throws other errors of the service at once, and the reason of the signal when it is aborted. */
export async function retryTemporary<Out>(request: () => Promise<Out>, signal: AbortSignal): Promise<Out> {
  for (let failures = 0; ; failures++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ParleyError && isTemporary(error))) throw error;
      await pause(Math.max(error.retryAfterMs ?? 0, backOffMs(failures, firstMs, maxMs)), signal);
    }
  }
}
