// OpenAI's chat completions.
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

const usage = {
  prompt_tokens: scriptedUsage.input,
  completion_tokens: scriptedUsage.output,
  total_tokens: scriptedUsage.input + scriptedUsage.output,
};

function messageOf(answer: Answer): Json {
  if (answer.call === undefined) return { role: 'assistant', content: answer.text };
  const { id, name, input } = answer.call;
  const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
  return { role: 'assistant', content: null, tool_calls: [call] };
}

function deltasOf(answer: Answer): Json[] {
  if (answer.call !== undefined) return [messageOf(answer)];
  return piecesOf(answer.text).map((content, i) => (i === 0 ? { role: 'assistant', content } : { content }));
}

const finishOf = ({ call }: Answer) => (call === undefined ? 'stop' : 'tool_calls');

export const openaiChat: ModelProtocol = {
  path: /\/chat\/completions$/,
  read: ({ model, stream, tools, messages }) => {
    const all = objects(messages);
    const of = (role: string) => all.filter((m) => m['role'] === role).map((m) => textOf(m['content']));
    return {
      model: String(model),
      stream: stream === true,
      tools: objects(tools).map(({ function: tool }) => {
        const { name, parameters } = (tool ?? {}) as Json;
        return { name: String(name), schema: parameters };
      }),
      results: of('tool'),
      said: of('assistant'),
      prompt: [...of('system'), ...of('developer'), ...of('user')].join('\n'),
    };
  },
  whole: (answer, model) => ({
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, message: messageOf(answer), finish_reason: finishOf(answer) }],
    usage,
  }),
  parts: (answer, model) => {
    const chunk = (choice: Json | undefined, more: Json = {}): Sent => ({
      data: {
        id: 'chatcmpl-scripted',
        object: 'chat.completion.chunk',
        created: 0,
        model,
        choices: choice === undefined ? [] : [{ index: 0, finish_reason: null, ...choice }],
        ...more,
      },
    });
    return [
      ...deltasOf(answer).map((delta) => chunk({ delta })),
      chunk({ delta: {}, finish_reason: finishOf(answer) }),
      chunk(undefined, { usage }),
      { data: '[DONE]' },
    ];
  },
};
