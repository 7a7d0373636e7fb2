// Finds the word that a person probably meant.

const wordCharsMax = 30;

/** The number of letters to add, remove, change or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const changed = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, changed, swapped));
    }
  }
  return at(a.length, b.length);
}

/** The most similar word, or one that starts like this; undefined if there is none. */
export function suggest(typed: string, words: readonly string[]): string | undefined {
  if (typed === '' || typed.length > wordCharsMax) return undefined;
  const faultsMax = typed.length < 4 ? 1 : 2;
  const near = words
    .map((word) => ({ word, faults: distance(typed.toLowerCase(), word) }))
    .filter(({ faults }) => faults <= faultsMax)
    .sort((a, b) => a.faults - b.faults);
  return near[0]?.word ?? words.find((word) => typed.length > 1 && word.startsWith(typed));
}
