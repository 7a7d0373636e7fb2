// OpenAI's responses.
import type { Answer } from './script.ts';
import type { Tool } from './tools.ts';
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
  input_tokens: scriptedUsage.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: scriptedUsage.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: scriptedUsage.input + scriptedUsage.output,
};

/** Tools can be in namespaces. Names have no slash, so a slash separates the two here. */
function toolsOf(tools: unknown, namespace = ''): Tool[] {
  return objects(tools).flatMap(({ type, name, parameters, tools: kept }) => {
    if (type === 'namespace') return toolsOf(kept, `${name}/`);
    return type === 'function' ? [{ name: `${namespace}${name}`, schema: parameters }] : [];
  });
}

function calledName(name: string): Json {
  const [first = '', second] = name.split('/');
  return second === undefined ? { name } : { namespace: first, name: second };
}

function itemOf(answer: Answer): Json {
  if (answer.call === undefined) {
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
    return { type: 'message', id: 'msg_scripted', role: 'assistant', status: 'completed', content };
  }
  const { id, name, input } = answer.call;
  const call = { call_id: id, ...calledName(name), arguments: JSON.stringify(input) };
  return { type: 'function_call', id: `fc_${id}`, status: 'completed', ...call };
}

function responseOf(model: string, answer: Answer | undefined): Json {
  return {
    id: 'resp_scripted',
    object: 'response',
    created_at: 0,
    model,
    status: answer === undefined ? 'in_progress' : 'completed',
    output: answer === undefined ? [] : [itemOf(answer)],
    usage: answer === undefined ? null : usage,
  };
}

function deltasOf(answer: Answer): Json[] {
  const item = itemOf(answer);
  const place = { item_id: item['id'], output_index: 0 };
  if (answer.call !== undefined)
    return [{ type: 'response.function_call_arguments.delta', delta: item['arguments'], ...place }];
  return piecesOf(answer.text).map((delta) => ({
    type: 'response.output_text.delta',
    content_index: 0,
    delta,
    ...place,
  }));
}

export const openaiResponses: ModelProtocol = {
  path: /\/responses$/,
  read: ({ model, stream, tools, instructions, input }) => {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objects(input);
    const isResult = ({ type }: Json) => String(type).endsWith('_call_output');
    const messages = items.filter(({ role }) => typeof role === 'string');
    const isSaid = ({ role }: Json) => role === 'assistant';
    return {
      model: String(model),
      stream: stream === true,
      tools: toolsOf(tools),
      results: items.filter(isResult).map(({ output }) => textOf(output)),
      said: messages.filter(isSaid).map(({ content }) => textOf(content)),
      prompt: [
        textOf(instructions),
        ...messages.filter((m) => !isSaid(m)).map(({ content }) => textOf(content)),
      ].join('\n'),
    };
  },
  whole: (answer, model) => responseOf(model, answer),
  parts: (answer, model) => {
    const item = itemOf(answer);
    const begun = answer.call === undefined ? { ...item, content: [] } : { ...item, arguments: '' };
    const events: Json[] = [
      { type: 'response.created', response: responseOf(model, undefined) },
      { type: 'response.output_item.added', output_index: 0, item: { ...begun, status: 'in_progress' } },
      ...deltasOf(answer),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: responseOf(model, answer) },
    ];
    return events.map(
      (data, sequence_number): Sent => ({ event: String(data['type']), data: { ...data, sequence_number } }),
    );
  },
};
