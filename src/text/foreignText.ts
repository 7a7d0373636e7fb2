// Converts untrusted values from agents, models and MCP servers to text. Nothing here throws, whatever the value is.

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const unshown = '[a value that cannot be shown]';

/** Serializing can take time that grows with the square of the depth, so deeper values are not shown. */
const levelsMax = 100;

function isDeep(value: unknown, levels = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === levelsMax || Object.values(value).some((one) => isDeep(one, levels + 1));
}

/** The value as JSON, or a placeholder if it is nested too deeply or cannot be serialized. */
export function jsonOf(value: unknown): string {
  try {
    return isDeep(value) ? unshown : (JSON.stringify(value) ?? '');
  } catch {
    return unshown;
  }
}

/** Returns strings unchanged and all else as JSON. It avoids `String()`, which would run the value's own methods. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : jsonOf(value);
}

/** Matches every escape, so that an escaped backslash is not misread; the group matches lone surrogates only. */
const escapes = /\\(?:(ud[89a-f][\da-f]{2})|.)/g;

/** Replaces lone surrogates in values and keys with U+FFFD, because many parsers reject them. */
export function wellFormedJson(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(escapes, (found, lone?: string) => (lone === undefined ? found : '\ufffd'));
}
