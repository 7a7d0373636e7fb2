// Fills the placeholders of a profile. Each value is inserted once, is not expanded again, and cannot end the JSON, the
// quoted text or the argument that contains it.

export const placeholders = ['model', 'token', 'base', 'origin', 'home', 'settings', 'condense'] as const;
export type Values = Readonly<Record<(typeof placeholders)[number], string>>;

/** Text, or JSON that becomes text once its own texts are filled. */
export type Template = string | { readonly [name: string]: unknown };

const anyPlaceholder = /\{([a-z]+)(:[a-z]+)?\}/g;

/** Returns a JSON string that is valid in TOML, too. TOML alone requires DEL to be escaped. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll('\x7f', '\\u007f');
}

/** Replaces NUL, which arguments and environment variables cannot contain. */
function startable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

export function fillText(template: string, values: Values): string {
  const filled = template.replace(anyPlaceholder, (_, name: keyof Values, form?: string) =>
    form === undefined ? values[name] : quoted(values[name]),
  );
  return startable(filled);
}

function fillJson(json: unknown, fill: (text: string) => string): unknown {
  if (typeof json === 'string') return fill(json);
  if (Array.isArray(json)) return json.map((item) => fillJson(item, fill));
  if (typeof json !== 'object' || json === null) return json;
  // With `fromEntries`, a model named `__proto__` is a key like any other.
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [fill(name), fillJson(value, fill)]));
}

export function fill(template: Template, values: Values): string {
  return typeof template === 'string'
    ? fillText(template, values)
    : JSON.stringify(fillJson(template, (text) => fillText(text, values)));
}

function textsOf(json: unknown): string[] {
  if (typeof json === 'string') return [json];
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) => [name, ...textsOf(value)]);
}

/** Returns the names of all placeholders, known or not, such as `model` and `model:quoted`. */
export function placeholdersIn(template: Template): string[] {
  return textsOf(template).flatMap((text) =>
    [...text.matchAll(anyPlaceholder)].map(([, name = '', form = '']) => name + form),
  );
}
