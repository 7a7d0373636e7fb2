// Anthropic's messages.
import type { Answer } from './script.ts';
import {
  type Json,
  type ModelProtocol,
  objects,
  piecesOf,
  type Sent,
  scriptedUsage,
  textOf,
} from './wire.ts';

function blockOf(answer: Answer): Json {
  if (answer.call === undefined) return { type: 'text', text: answer.text };
  const { id, name, input } = answer.call;
  return { type: 'tool_use', id: `toolu_${id}`, name, input };
}

const stopOf = ({ call }: Answer) => (call === undefined ? 'end_turn' : 'tool_use');

function messageOf(model: string, more: Json): Json {
  return {
    id: 'msg_scripted',
    type: 'message',
    role: 'assistant',
    model,
    stop_sequence: null,
    usage: { input_tokens: scriptedUsage.input, output_tokens: scriptedUsage.output },
    ...more,
  };
}

export const anthropic: ModelProtocol = {
  path: /\/messages$/,
  read: ({ model, stream, tools, system, messages }) => {
    const all = objects(messages);
    const contents = (role: string) => all.filter((m) => m['role'] === role).map((m) => m['content']);
    return {
      model: String(model),
      stream: stream === true,
      tools: objects(tools).map(({ name, input_schema }) => ({ name: String(name), schema: input_schema })),
      results: contents('user')
        .flatMap(objects)
        .filter(({ type }) => type === 'tool_result')
        .map(({ content }) => textOf(content)),
      said: contents('assistant').map(textOf),
      prompt: [textOf(system), ...contents('user').map(textOf)].join('\n'),
    };
  },
  whole: (answer, model) => messageOf(model, { content: [blockOf(answer)], stop_reason: stopOf(answer) }),
  parts: (answer, model) => {
    const block = blockOf(answer);
    const begun = answer.call === undefined ? { ...block, text: '' } : { ...block, input: {} };
    const deltas: Json[] =
      answer.call === undefined
        ? piecesOf(answer.text).map((text) => ({ type: 'text_delta', text }))
        : [{ type: 'input_json_delta', partial_json: JSON.stringify(answer.call.input) }];
    const end = { stop_reason: stopOf(answer), stop_sequence: null };
    const events: Json[] = [
      { type: 'message_start', message: messageOf(model, { content: [], stop_reason: null }) },
      { type: 'content_block_start', index: 0, content_block: begun },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: end, usage: { output_tokens: scriptedUsage.output } },
      { type: 'message_stop' },
    ];
    return events.map((data): Sent => ({ event: String(data['type']), data }));
  },
};
