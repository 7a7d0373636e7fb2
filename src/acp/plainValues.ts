// Makes hidden and control characters of agents visible in everything that a client shows. Some clients write it to a
// terminal as it is.
import { plainText, withoutColours } from '../text/plainText.ts';

/** Deeper values are left out. The service stores no deeper ones. */
const levelsMax = 200;

/** Colours are removed, so that the output of commands stays readable. */
const plainString = (text: string) => plainText(withoutColours(text));

function plain(value: unknown, levels: number): unknown {
  if (typeof value === 'string') return plainString(value);
  if (typeof value !== 'object' || value === null) return value;
  if (levels === levelsMax) return null;
  // Their data is Base64, which needs no conversion and is long.
  if ('type' in value && value.type === 'image') return value;
  if (Array.isArray(value)) return value.map((item) => plain(item, levels + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [plainString(name), plain(item, levels + 1)]),
  );
}

export function plainValues<Value>(value: Value): Value {
  return plain(value, 0) as Value;
}
