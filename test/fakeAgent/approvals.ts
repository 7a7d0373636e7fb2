// Lines that make the fake agent ask for approval and keep to the answer, or not.
import { randomUUID } from 'node:crypto';
import { methods, type RequestPermissionRequest } from '@agentclientprotocol/sdk';
import type { Command, Script } from './script.ts';

const options: RequestPermissionRequest['options'] = [
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

async function request({ client, session }: Script, toolCall: RequestPermissionRequest['toolCall']) {
  const answer = await client.request(methods.client.session.requestPermission, {
    sessionId: session.id,
    toolCall,
    options,
  });
  return answer.outcome.outcome === 'selected' && answer.outcome.optionId !== 'no';
}

const execute = (toolCallId: string, command: string) => ({
  toolCallId,
  title: command,
  kind: 'execute' as const,
  rawInput: { command },
});

export const approvals = {
  /** `ask-run rm a`: asks under the id that it reports under, and runs only what was allowed. */
  'ask-run': async (script, rest) => {
    const call = execute(randomUUID(), rest);
    await script.update({ sessionUpdate: 'tool_call', status: 'pending', ...call });
    const status = (await request(script, call)) ? 'completed' : 'failed';
    await script.update({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status });
    await script.say(`${status} ${rest}`);
  },

  /** `ask-input {"command":"a\\nb"}`: the same for an input of more than one line. */
  'ask-input': async (script, rest) => {
    const rawInput = JSON.parse(rest) as { command: string };
    const call = { toolCallId: randomUUID(), title: 'Run a command', kind: 'execute' as const, rawInput };
    await script.update({ sessionUpdate: 'tool_call', status: 'pending', ...call });
    const status = (await request(script, call)) ? 'completed' : 'failed';
    await script.update({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status });
    await script.say(status);
  },

  /** `begin-ask-run rm a`: calls it in progress before it asks, as some do. */
  'begin-ask-run': async (script, rest) => {
    const call = execute(randomUUID(), rest);
    await script.update({ sessionUpdate: 'tool_call', status: 'in_progress', ...call });
    const status = (await request(script, call)) ? 'completed' : 'failed';
    await script.update({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status });
    await script.say(`${status} ${rest}`);
  },

  /** `ask-other-id rm a`: asks under another id than it reports under. */
  'ask-other-id': async (script, rest) => {
    if (!(await request(script, execute(randomUUID(), rest)))) return;
    await script.update({ sessionUpdate: 'tool_call', status: 'completed', ...execute(randomUUID(), rest) });
    await script.say(`completed ${rest}`);
  },

  /** `ask-run-other ls; rm a`: asks for the first and runs the second under the same id. */
  'ask-run-other': async (script, rest) => {
    const [asked = '', done = ''] = rest.split('; ');
    const id = randomUUID();
    await request(script, execute(id, asked));
    await script.update({ sessionUpdate: 'tool_call', status: 'completed', ...execute(id, done) });
  },

  /** `run-rejected rm a`: asks, and runs it whatever the answer is. */
  'run-rejected': async (script, rest) => {
    const call = execute(randomUUID(), rest);
    await request(script, call);
    await script.update({ sessionUpdate: 'tool_call', status: 'completed', ...call });
  },

  /** `run-before-answer rm a`: asks, and runs it before the answer is there. */
  'run-before-answer': async (script, rest) => {
    const call = execute(randomUUID(), rest);
    const asked = request(script, call);
    await script.update({ sessionUpdate: 'tool_call', status: 'completed', ...call });
    await asked;
  },

  /** `ask-then-tell docs find x`: asks for a tool of a server, and tells its input once it has asked. */
  'ask-then-tell': async (script, rest) => {
    const [server, tool, word] = rest.split(' ');
    const call = { toolCallId: randomUUID(), title: `mcp__${server}__${tool}`, kind: 'other' as const };
    const asked = request(script, { ...call, rawInput: {} });
    await script.update({ sessionUpdate: 'tool_call', status: 'in_progress', ...call, rawInput: { word } });
    await script.say((await asked) ? 'allowed' : 'rejected');
  },

  /** `late-kind rm a`: tells what kind of call it was when it has ended. */
  'late-kind': async (script, rest) => {
    const { kind, ...call } = execute(randomUUID(), rest);
    await script.update({ sessionUpdate: 'tool_call', status: 'completed', ...call });
    await script.update({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, kind });
  },

  /** `run-in-other-session rm a`: reports a command as one of a session that nobody opened. */
  'run-in-other-session': async ({ client }, rest) => {
    const update = { sessionUpdate: 'tool_call', status: 'completed', ...execute(randomUUID(), rest) };
    await client.notify<unknown>(methods.client.session.update, { sessionId: randomUUID(), update });
  },
} satisfies Readonly<Record<string, Command>>;
