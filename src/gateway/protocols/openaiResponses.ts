// OpenAI's Responses API.
import { isObject } from '../../text/foreignText.ts';
import { countOf, type ModelProtocol } from './protocol.ts';
import { applyRules, droppedEverywhere, keepTypes, type RequestRules } from './rules.ts';

const rules: RequestRules = {
  dropped: [...droppedEverywhere, 'background'],
  // The last two belong to MCP servers that the provider calls.
  refused: ['previous_response_id', 'conversation', 'prompt', 'file_id', 'server_url', 'connector_id'],
  within: ['input', 'content', 'output', 'tools'],
  keepTool: keepTypes(/^(function|custom|namespace|local_shell|apply_patch|tool_search)$/),
  choices: ['tool_choice'],
};

export const openaiResponses: ModelProtocol = {
  match: (path) => (/^\/responses(\?|$)/.test(path) ? { kind: 'answer', suffix: path } : undefined),
  prepare: ({ suffix }, body, model) => ({
    suffix,
    body: { ...applyRules(body, rules), model, store: false },
  }),
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
