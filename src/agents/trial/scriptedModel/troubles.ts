// What can go wrong between an agent and its model, as steps of a script: they stand before the step that they befall.

export type Trouble = (
  | { readonly fail: { readonly status: number; readonly retryAfterS?: number } }
  /** The connection is cut before a byte of the answer, or in its middle. */
  | { readonly drop: 'before' | 'middle' }
  /** It is answered, but the first byte and each further piece are waited for. */
  | { readonly slow: { readonly firstMs?: number; readonly betweenMs?: number } }
) & {
  /** So many requests meet it; then it is used up. Absent: one. */
  readonly times?: number;
};

export function isTrouble(step: object): step is Trouble {
  return 'fail' in step || 'drop' in step || 'slow' in step;
}

/** The steps of the work, and what befalls each of them: one trouble after the other, until all are used up. */
export function splitScript<Work extends object>(script: readonly (Work | Trouble)[]) {
  const work: Work[] = [];
  const before: Trouble[][] = [[]];
  for (const step of script) {
    if (isTrouble(step)) before.at(-1)?.push(step);
    else before[work.push(step)] = [];
  }
  const met = new Map<Trouble, number>();
  return {
    work,
    /** Of a request for the step at that place; counted as met. */
    meet: (at: number): Trouble | undefined => {
      const next = before[at]?.find((trouble) => (met.get(trouble) ?? 0) < (trouble.times ?? 1));
      if (next !== undefined) met.set(next, (met.get(next) ?? 0) + 1);
      return next;
    },
  };
}
