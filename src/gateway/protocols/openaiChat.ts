// OpenAI's Chat Completions API, which most other providers offer as well.
import { isObject } from '../../text/foreignText.ts';
import { countOf, type ModelProtocol } from './protocol.ts';
import { applyRules, droppedEverywhere, keepTypes, type RequestRules } from './rules.ts';

const rules: RequestRules = {
  dropped: [...droppedEverywhere, 'store', 'n', 'web_search_options', 'search_parameters'],
  refused: ['file_id', 'cached_content'],
  within: ['messages', 'content', 'file', 'extra_body', 'google'],
  keepTool: keepTypes(/^(function|custom)$/),
  choices: ['tool_choice'],
};

export const openaiChat: ModelProtocol = {
  match: (path) => (/^\/chat\/completions(\?|$)/.test(path) ? { kind: 'answer', suffix: path } : undefined),
  prepare: ({ suffix }, body, model) => {
    const asked = isObject(body['stream_options']) ? body['stream_options'] : {};
    // A stream reports its usage only if the request asks for it.
    const options = body['stream'] === true ? { stream_options: { ...asked, include_usage: true } } : {};
    return { suffix, body: { ...applyRules(body, rules), model, ...options } };
  },
  read: ({ usage }, before) => {
    if (!isObject(usage)) return before;
    const details = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
    const cacheRead = countOf(details['cached_tokens']);
    return {
      input: Math.max(0, countOf(usage['prompt_tokens']) - cacheRead),
      output: countOf(usage['completion_tokens']),
      cacheRead,
      cacheWrite: 0,
    };
  },
};
