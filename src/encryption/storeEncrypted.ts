// Storing what is encrypted: encrypted anew, and stored again, where the key was rotated in between.
import { AppError } from '../errors.ts';
import type { Vault } from './vault.ts';

const attemptsMax = 5;

interface Outcome {
  readonly outcome: string;
}

/** Seals and stores with `attempt` until the seal is not stale. Throws where the key changes again and again. */
export async function storeEncrypted<Out extends Outcome>(
  vault: Pick<Vault, 'refresh'>,
  attempt: () => Promise<Out>,
): Promise<Exclude<Out, { outcome: 'stale_seal' }>> {
  for (let tries = 0; tries < attemptsMax; tries++) {
    const stored = await attempt();
    if (stored.outcome !== 'stale_seal') return stored as Exclude<Out, { outcome: 'stale_seal' }>;
    await vault.refresh();
  }
  throw new AppError('overloaded', 'The encryption key changes too often; try again.', { retryAfterS: 1 });
}
