// Names of models that existing clients use for models of known providers.

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
