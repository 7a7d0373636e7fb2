// Reads untrusted JSON, such as API responses. Missing or wrong values are read as empty, never as errors.
import { isObject, type JsonObject } from './foreignText.ts';

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** The text at the path; empty if there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = path.reduce<unknown>((at, name) => objectOf(at)[name], value);
  return typeof found === 'string' ? found : '';
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = path.reduce<unknown>((at, name) => objectOf(at)[name], value);
  return Number.isSafeInteger(found) ? (found as number) : undefined;
}
