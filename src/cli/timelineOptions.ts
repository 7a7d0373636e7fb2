// How much of an output is shown to people.

const linesMax = 24;

export function linesMaxOf(full: boolean): number {
  return full ? Number.POSITIVE_INFINITY : linesMax;
}
