// Reads single fields of events, whatever they contain.

export type Fields = Readonly<Record<string, unknown>>;

/** Converts a value to the type of its field. Undefined means that the field is left out. */
export type Read = (value: unknown, siblings: Fields) => unknown;

export const anything: Read = (value) => (value === undefined ? null : value);
export const text = (value: unknown, _siblings: Fields = {}): string =>
  typeof value === 'string' ? value : '';
export const integer = (value: unknown, _siblings: Fields = {}): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

export function fieldsOf(value: unknown, _siblings: Fields = {}): Fields {
  return isFields(value) ? value : {};
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Accepts one of these words. Other values become the default, if there is one. */
export function oneOf(words: readonly string[], fallback?: string): Read {
  return (value) => (typeof value === 'string' && words.includes(value) ? value : fallback);
}

/** Reads an optional field, which is left out if it has another type. */
export function orNothing(read: Read, type: 'string' | 'boolean' | 'object'): Read {
  return (value, siblings) => {
    const has = type === 'object' ? isFields(value) : typeof value === type;
    return has ? read(value, siblings) : undefined;
  };
}
