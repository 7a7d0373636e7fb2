// Names of models: what a name may be, and names that existing clients use for models of known providers.

export const aliasPrefix = 'openhands/';

/** The provider of a model, by the beginning of its name. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^claude/, 'anthropic'],
  [/^(gpt|o\d|codex)/, 'openai'],
  [/^gemini/, 'gemini'],
  [/^deepseek/, 'deepseek'],
  [/^(devstral|mistral|codestral|magistral)/, 'mistral'],
  [/^kimi/, 'moonshot'],
  [/^grok/, 'xai'],
  [/^glm/, 'zai'],
];

/** `openhands/claude-…` means `anthropic/claude-…`, and so on. Other names stay as they are. */
export function resolveModelName(name: string): string {
  if (!name.startsWith(aliasPrefix)) return name;
  const plain = name.slice(aliasPrefix.length);
  const provider = families.find(([start]) => start.test(plain))?.[1];
  return provider === undefined ? name : `${provider}/${plain}`;
}

/** Names become parts of URLs, log lines and configurations. Returns what is wrong, as the end of a sentence. */
export function modelTextFault(name: string): string | undefined {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)
    ? 'must not contain control characters or line breaks'
    : undefined;
}

/** The same, and the name must have the form of one. */
export function modelNameFault(name: string): string | undefined {
  const parts = name === '' ? [] : name.split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part.trim())))
    return 'must be a name such as openai/gpt-5, without empty parts and parts that are . or ..';
  return modelTextFault(name);
}
