// The result of one check of the doctor.

export interface Finding {
  readonly check: string;
  /** `note`: it works, or will work, but there is something to know. */
  readonly state: 'ok' | 'note' | 'wrong';
  readonly message: string;
  /** How to fix it. */
  readonly remedy?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });

export const note = (check: string, message: string, remedy?: string): Finding => ({
  check,
  state: 'note',
  message,
  ...(remedy === undefined ? {} : { remedy }),
});

export const wrong = (check: string, message: string, remedy: string): Finding => ({
  check,
  state: 'wrong',
  message,
  remedy,
});

export const proxyDocs = 'See "Reverse proxies" in docs/deploy.md.';

/** A larger difference between clocks breaks leases and deadlines. */
const clockSkewMaxMs = 5_000;

export function compareClocks(what: string, otherMs: number, ownMs: number): Finding {
  const apartMs = Math.round(otherMs - ownMs);
  if (Math.abs(apartMs) <= clockSkewMaxMs)
    return ok('clock', `The clock of this machine agrees with ${what}.`);
  const s = Math.round(Math.abs(apartMs) / 1_000);
  return wrong(
    'clock',
    `The clock of this machine is ${s} s ${apartMs > 0 ? 'behind' : 'ahead of'} ${what}.`,
    'Set both clocks with NTP.',
  );
}
