// Text of values that others sent: agents, models and MCP servers. Nothing here throws, whatever the value holds.

const unshown = '[a value that cannot be shown]';

/** The time that JSON takes to write can grow with the square of the depth. */
const levelsMax = 100;

function isDeep(value: unknown, levels = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === levelsMax || Object.values(value).some((one) => isDeep(one, levels + 1));
}

/** Its JSON, or a word in its place where it is nested too deeply. */
export function jsonOf(value: unknown): string {
  try {
    return isDeep(value) ? unshown : (JSON.stringify(value) ?? '');
  } catch {
    return unshown;
  }
}

/** A string as it is, nothing for a value that is missing, and JSON for all else. `String()` would call into the value. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : jsonOf(value);
}

/** JSON writes a lone surrogate as an escape. Other escapes are matched only to be stepped over. */
const escapes = /\\(?:(ud[89a-f][\da-f]{2})|.)/g;

/** The same JSON with U+FFFD for each lone surrogate, in values and keys alike: many parsers refuse such text. */
export function wellFormedJson(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(escapes, (found, lone?: string) => (lone === undefined ? found : '\ufffd'));
}
