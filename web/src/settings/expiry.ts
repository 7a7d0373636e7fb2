// When a key that is to be made ends.

export const expiryChoices = ['never', '7', '30', '90', '365', 'date'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];

const dayMs = 86_400_000;

/** Null is never; undefined where a day is to be chosen and is not. */
export function expiresAt(choice: ExpiryChoice, day: string, now: number): string | null | undefined {
  if (choice === 'never') return null;
  if (choice !== 'date') return new Date(now + Number(choice) * dayMs).toISOString();
  // The whole day counts, where the person is.
  const end = new Date(`${day}T23:59:59`);
  return day === '' || Number.isNaN(end.getTime()) ? undefined : end.toISOString();
}
