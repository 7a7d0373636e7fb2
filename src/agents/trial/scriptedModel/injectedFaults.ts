// Faults between an agent and its model, as steps of a script. A fault precedes the step that it affects.

export type InjectedFault = (
  | { readonly fail: { readonly status: number; readonly retryAfterS?: number } }
  /** The connection is cut before the first byte of the response, or in its middle. */
  | { readonly drop: 'before' | 'middle' }
  /** The first byte and each further piece of the response are delayed. */
  | { readonly slow: { readonly firstMs?: number; readonly betweenMs?: number } }
) & {
  /** How many requests the fault affects. Default: one. */
  readonly times?: number;
};

export function isFault(step: object): step is InjectedFault {
  return 'fail' in step || 'drop' in step || 'slow' in step;
}

/** Separates the steps of the work from the faults before each of them, which are injected one after the other. */
export function splitScript<Work extends object>(script: readonly (Work | InjectedFault)[]) {
  const work: Work[] = [];
  const before: InjectedFault[][] = [[]];
  for (const step of script) {
    if (isFault(step)) before.at(-1)?.push(step);
    else before[work.push(step)] = [];
  }
  const met = new Map<InjectedFault, number>();
  return {
    work,
    /** Returns the fault for a request of the step with this index, and counts it. */
    nextFault: (at: number): InjectedFault | undefined => {
      const next = before[at]?.find((fault) => (met.get(fault) ?? 0) < (fault.times ?? 1));
      if (next !== undefined) met.set(next, (met.get(next) ?? 0) + 1);
      return next;
    },
  };
}
