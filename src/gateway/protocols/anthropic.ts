// Messages, Anthropic's API. A stream tells what came in at its beginning, and what went out as it goes.
import { countOf, isObject, type Json, type ModelProtocol, type Tokens } from './protocol.ts';

function usageOf(part: Json): Json {
  const message = isObject(part['message']) ? part['message'] : part;
  return isObject(message['usage']) ? message['usage'] : {};
}

/** What a later part leaves out holds on. */
function newest(usage: Json, name: string, before: number): number {
  return usage[name] == null ? before : countOf(usage[name]);
}

export const anthropic: ModelProtocol = {
  match: (path) => {
    if (/^\/v1\/messages(\?|$)/.test(path)) return { kind: 'answer', suffix: path };
    if (/^\/v1\/messages\/count_tokens(\?|$)/.test(path)) return { kind: 'count', suffix: path };
    return undefined;
  },
  prepare: ({ suffix }, body, model) => ({ suffix, body: { ...body, model } }),
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
