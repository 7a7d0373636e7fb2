// Anthropic's Messages API. A stream reports input tokens at its start, and output tokens as it goes.
import { isObject, type JsonObject } from '../../text/foreignText.ts';
import { countOf, type ModelProtocol, type Tokens } from './protocol.ts';
import { applyRules, droppedEverywhere, keepTypes, type RequestRules } from './rules.ts';

const rules: RequestRules = {
  // A container belongs to tools that run at the provider. Faster or regional answers have other prices.
  dropped: [...droppedEverywhere, 'container', 'speed', 'inference_geo'],
  refused: ['mcp_servers', 'file_id'],
  within: ['messages', 'system', 'content', 'source'],
  keepTool: keepTypes(/^(custom$|bash_|text_editor_|memory_|computer_|tool_search_tool_)/),
  choices: ['tool_choice'],
};

function usageOf(part: JsonObject): JsonObject {
  const message = isObject(part['message']) ? part['message'] : part;
  return isObject(message['usage']) ? message['usage'] : {};
}

/** A value that a later event omits stays valid. */
function newest(usage: JsonObject, name: string, before: number): number {
  return usage[name] == null ? before : countOf(usage[name]);
}

export const anthropic: ModelProtocol = {
  match: (path) => {
    if (/^\/v1\/messages(\?|$)/.test(path)) return { kind: 'answer', suffix: path };
    if (/^\/v1\/messages\/count_tokens(\?|$)/.test(path)) return { kind: 'count', suffix: path };
    return undefined;
  },
  prepare: ({ suffix }, body, model) => ({ suffix, body: { ...applyRules(body, rules), model } }),
  read: (part, before): Tokens => {
    const usage = usageOf(part);
    return {
      input: newest(usage, 'input_tokens', before.input),
      output: newest(usage, 'output_tokens', before.output),
      cacheRead: newest(usage, 'cache_read_input_tokens', before.cacheRead),
      cacheWrite: newest(usage, 'cache_creation_input_tokens', before.cacheWrite),
    };
  },
};
