// Google's generateContent API. The path names the model, which may contain slashes.
import { isObject } from '../../text/foreignText.ts';
import { countOf, type ModelProtocol } from './protocol.ts';
import { applyRules, droppedEverywhere, type RequestRules } from './rules.ts';

/** Google accepts every name in camelCase and snake_case. */
const bothForms = (...names: readonly string[]) =>
  names.flatMap((name) => [name, name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]);

const functions = bothForms('functionDeclarations');

const rules: RequestRules = {
  dropped: [...droppedEverywhere, 'serviceTier', 'store'],
  refused: bothForms('cachedContent', 'fileData'),
  within: bothForms('contents', 'systemInstruction', 'parts', 'functionResponse', 'generateContentRequest'),
  keepTool: (tool) => {
    const kept = Object.entries(tool).filter(([name]) => functions.includes(name));
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  },
  choices: bothForms('toolConfig'),
};

const pathForm =
  /^\/(v1|v1beta)\/models\/([^?]+?):(generateContent|streamGenerateContent|countTokens)(\?.*)?$/;

export const gemini: ModelProtocol = {
  match: (path) => {
    const [, , , method] = pathForm.exec(path) ?? [];
    if (method === undefined) return undefined;
    return { kind: method === 'countTokens' ? 'count' : 'answer', suffix: path };
  },
  prepare: ({ suffix }, body, model) => {
    const [, version = '', , method = '', query = ''] = pathForm.exec(suffix) ?? [];
    // The agent's own key must not be sent.
    const parameters = new URLSearchParams(query);
    parameters.delete('key');
    const rest = parameters.size === 0 ? '' : `?${parameters}`;
    return {
      suffix: `/${version}/models/${encodeURIComponent(model)}:${method}${rest}`,
      body: applyRules(body, rules),
    };
  },
  read: ({ usageMetadata: usage }, before) => {
    if (!isObject(usage)) return before;
    const cacheRead = countOf(usage['cachedContentTokenCount']);
    return {
      input: Math.max(0, countOf(usage['promptTokenCount']) - cacheRead),
      output: countOf(usage['candidatesTokenCount']) + countOf(usage['thoughtsTokenCount']),
      cacheRead,
      cacheWrite: 0,
    };
  },
};
