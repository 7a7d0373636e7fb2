// Stores encrypted values, and repeats that if the key was rotated meanwhile.
import { AppError } from '../errors.ts';
import type { Vault } from './vault.ts';

const attemptsMax = 5;

interface Outcome {
  readonly outcome: string;
}

/** Repeats `attempt`, which encrypts and stores, until the key is current. Throws if the key keeps changing. */
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
