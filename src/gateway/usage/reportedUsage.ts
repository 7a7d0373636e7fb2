// Finds the usage that an answer reports without parsing long text. Parsing the long lines of many answers would block
// the process.
import { isObject, type JsonObject } from '../../text/foreignText.ts';

/** The fields that report usage. */
const names = ['usage', 'usageMetadata'];
/** Far more than any provider sends. */
const usageCharsMax = 8_192;

export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object that starts at the first brace; undefined if it does not end. It must not contain braces in strings. */
function objectAt(text: string): JsonObject | undefined {
  let depth = 0;
  for (const { 0: brace, index } of text.matchAll(/[{}]/g)) {
    depth += brace === '{' ? 1 : -1;
    if (depth <= 0) return parseObject(text.slice(text.indexOf('{'), index + 1));
  }
  return undefined;
}

/** The last usage in the end of a long answer, as an object with only this field. */
export function findUsageAtEnd(text: string): JsonObject | undefined {
  const positions = names.map((name) => ({ name, at: text.lastIndexOf(`"${name}"`) }));
  const { name, at } = positions.reduce((a, b) => (b.at > a.at ? b : a));
  if (at === -1) return undefined;
  const usage = objectAt(text.slice(at, at + usageCharsMax));
  return usage === undefined ? undefined : { [name]: usage };
}
