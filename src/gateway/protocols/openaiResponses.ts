// Responses, OpenAI's newer API.
import { countOf, isObject, type ModelProtocol } from './protocol.ts';

export const openaiResponses: ModelProtocol = {
  match: (path) => (/^\/responses(\?|$)/.test(path) ? { kind: 'answer', suffix: path } : undefined),
  prepare: ({ suffix }, body, model) => ({ suffix, body: { ...body, model } }),
  read: (part, before) => {
    const response = isObject(part['response']) ? part['response'] : part;
    const { usage } = response;
    if (!isObject(usage)) return before;
    const details = isObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
    const cacheRead = countOf(details['cached_tokens']);
    return {
      input: Math.max(0, countOf(usage['input_tokens']) - cacheRead),
      output: countOf(usage['output_tokens']),
      cacheRead,
      cacheWrite: 0,
    };
  },
};
