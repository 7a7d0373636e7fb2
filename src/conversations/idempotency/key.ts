// The rules of idempotency keys, which creations and messages share.
import { AppError, invalid } from '../../errors.ts';

export const idempotencyTtlMs = 24 * 60 * 60 * 1_000;
const idempotencyKeyMax = 255;

export function checkIdempotencyKey(key: string): void {
  if (key.length === 0 || key.length > idempotencyKeyMax || !/^[\x20-\x7e]+$/.test(key))
    throw invalid([
      { path: 'Idempotency-Key', message: `must be 1 to ${idempotencyKeyMax} printable ASCII characters` },
    ]);
}

/** What calls with this key claim in a set. */
export function keyClaim(userId: number, keyHash: string): string {
  return `key ${userId} ${keyHash}`;
}

export function idempotencyKeyReused(): AppError {
  return new AppError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with a different request in the last 24 hours.',
  );
}
