// Reads JSON of others, such as answers of APIs: what is not as it should be is empty, never an error.

export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

export function listOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(membersOf) : [];
}

/** The text at the end of the path; empty where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = path.reduce<unknown>((at, name) => membersOf(at)[name], value);
  return typeof found === 'string' ? found : '';
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = path.reduce<unknown>((at, name) => membersOf(at)[name], value);
  return Number.isSafeInteger(found) ? (found as number) : undefined;
}
