// What the doctor says of one thing that it looked at.

export interface Finding {
  readonly check: string;
  /** `note`: it works, or will; but there is something to know. */
  readonly state: 'ok' | 'note' | 'wrong';
  readonly message: string;
  /** What to do about it. */
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

/** Clocks further apart than this confuse leases, deadlines and people. */
const clockSkewMaxMs = 5_000;

export function compareClocks(what: string, itsTime: number, ourTime: number): Finding {
  const apartMs = Math.round(itsTime - ourTime);
  if (Math.abs(apartMs) <= clockSkewMaxMs) return ok('clock', `It agrees with ${what}.`);
  const s = Math.round(Math.abs(apartMs) / 1_000);
  return wrong(
    'clock',
    `It is ${s} s ${apartMs > 0 ? 'behind' : 'ahead of'} ${what}.`,
    'Set the clocks of both by a time server (NTP).',
  );
}
