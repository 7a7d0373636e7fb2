// generateContent, Google's API. The model is named in the path, and may hold slashes.
import { countOf, isObject, type ModelProtocol } from './protocol.ts';

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
    // A key in the query is none of ours.
    const parameters = new URLSearchParams(query);
    parameters.delete('key');
    const rest = parameters.size === 0 ? '' : `?${parameters}`;
    return { suffix: `/${version}/models/${encodeURIComponent(model)}:${method}${rest}`, body };
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
