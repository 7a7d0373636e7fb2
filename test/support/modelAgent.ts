#!/usr/bin/env node
// A minimal agent that obeys a model: ACP on its standard streams, chat completions at MODEL_BASE_URL with MODEL_TOKEN,
// and two tools. With ASK=`ask` it asks for approval, with the name of a tool only for that one, and with `ignore` it
// ignores the answer. With NO_TOOLS it does nothing.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly outcome?: { readonly optionId?: string } };
}

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

const { MODEL_BASE_URL, MODEL_TOKEN, MODEL, ASK, NO_TOOLS } = process.env;
const sessionId = 'the-session';
const text = { type: 'string' };
const tool = (name: string, properties: Record<string, object>) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties, required: Object.keys(properties) } },
});
const tools = NO_TOOLS
  ? [tool('think', {})]
  : [tool('write_file', { path: text, content: text }), tool('bash', { command: text })];

const waiting: ((isAllowed: boolean) => void)[] = [];
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Returns whether it is allowed. */
function askForLeave(toolCallId: string, title: string, rawInput: object): Promise<boolean> {
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ];
  send({
    id: 1_000,
    method: 'session/request_permission',
    params: { sessionId, toolCall: { toolCallId, title, rawInput }, options },
  });
  return new Promise((resolve) => waiting.push(resolve));
}

async function use({ id, function: { name, arguments: input } }: Call): Promise<string> {
  const given = JSON.parse(input);
  const { path, content, command } = given;
  const asks = ASK === 'ask' || ASK === name || ASK === 'ignore';
  const isAllowed = !asks || (await askForLeave(id, name, given));
  if (!isAllowed && ASK !== 'ignore') return 'rejected';
  if (name === 'bash') return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
  writeFileSync(path, content);
  return 'written';
}

async function turn(): Promise<object> {
  const messages: object[] = [{ role: 'user', content: 'go' }];
  for (;;) {
    const response = await fetch(`${MODEL_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${MODEL_TOKEN}` },
      body: JSON.stringify({ model: MODEL, messages, tools }),
    });
    const { choices } = (await response.json()) as { choices: { message: Record<string, unknown> }[] };
    const message = choices[0]?.message ?? {};
    messages.push(message);
    const calls = (message['tool_calls'] ?? []) as Call[];
    for (const call of calls)
      messages.push({ role: 'tool', tool_call_id: call.id, content: await use(call) });
    if (calls.length > 0) continue;
    const content = { type: 'text', text: message['content'] };
    send({
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } },
    });
    return { stopReason: 'end_turn' };
  }
}

const answers: Readonly<Record<string, () => object | Promise<object>>> = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId }),
  'session/prompt': turn,
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, result } = JSON.parse(line) as Message;
  if (method === undefined) waiting.shift()?.(result?.outcome?.optionId === 'yes');
  else if (id !== undefined) send({ id, result: (await answers[method]?.()) ?? {} });
});
