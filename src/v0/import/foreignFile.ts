// Parses JSON files of another server: bounded in bytes, values and levels, so that no file can exhaust memory or stack.
import { findTooManyValues } from '../../validation/tooManyValues.ts';
import { type Fault, isFault, type SourceFolder } from './sourceFolder.ts';

const valuesMax = 1_000_000;
/** As in `replay_json`: readers of the log traverse events recursively. */
const levelsMax = 64;

/** Looks at the structure level by level, without recursion. */
function structureFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levelsMax) return `is nested more than ${levelsMax} levels deep`;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (Object.hasOwn(one, '__proto__')) return 'has a field named __proto__';
      for (const inner of Object.values(one)) next.push(inner);
    }
    level = next;
  }
  return undefined;
}

/** The value, or why it cannot be used. */
export function parseForeign(bytes: Buffer): { readonly value: unknown } | Fault {
  if (findTooManyValues(bytes, valuesMax) !== undefined) return { fault: 'has too many values or levels' };
  let value: unknown;
  try {
    // Invalid UTF-8 becomes U+FFFD.
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The error would quote the text, which may be a secret.
    return { fault: 'is not valid JSON' };
  }
  const fault = structureFault(value);
  return fault === undefined ? { value } : { fault };
}

/** Undefined if there is no such file. */
export function readForeign(
  folder: SourceFolder,
  name: string,
  bytesMax: number,
): { readonly value: unknown } | Fault | undefined {
  const bytes = folder.read(name, bytesMax);
  return bytes === undefined || isFault(bytes) ? bytes : parseForeign(bytes);
}
