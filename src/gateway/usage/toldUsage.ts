// Where an answer says what it took, found without parsing what is long: a parser that is fed long lines, by as many
// answers as a run may have, leaves no time for anybody else.
import { isObject, type Json } from '../protocols/protocol.ts';

/** Of the names by which an answer tells of it. */
const names = ['usage', 'usageMetadata'];
/** Of what it says: far more than any provider does. */
const toldCharsMax = 8_192;

export function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object that begins at the first brace. Undefined: it has no end in time. No string in it has braces. */
function objectAt(text: string): Json | undefined {
  let depth = 0;
  for (const { 0: brace, index } of text.matchAll(/[{}]/g)) {
    depth += brace === '{' ? 1 : -1;
    if (depth <= 0) return parseObject(text.slice(text.indexOf('{'), index + 1));
  }
  return undefined;
}

/** The last that the end of a long answer tells, as a part of it that tells nothing else. */
export function findToldAtEnd(text: string): Json | undefined {
  const places = names.map((name) => ({ name, at: text.lastIndexOf(`"${name}"`) }));
  const { name, at } = places.reduce((a, b) => (b.at > a.at ? b : a));
  if (at === -1) return undefined;
  const told = objectAt(text.slice(at, at + toldCharsMax));
  return told === undefined ? undefined : { [name]: told };
}
