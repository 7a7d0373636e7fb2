// Lines that make the fake agent use tools: pretended ones, real ones, and those that need leave.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { methods, type RequestPermissionRequest, type ToolKind } from '@agentclientprotocol/sdk';
import { agentId } from './activity.ts';
import type { Command, Script } from './script.ts';

const kinds: readonly string[] = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'fetch'];

interface Call {
  readonly title: string;
  readonly kind: ToolKind;
  readonly [member: string]: unknown;
}

export const output = (text: string) => [{ type: 'content', content: { type: 'text', text } }];

/** Announces a call, does the work, and tells how it ended. */
export async function use(
  { update }: Script,
  call: Call,
  work: () => Promise<Record<string, unknown>> | Record<string, unknown>,
): Promise<void> {
  const toolCallId = randomUUID();
  await update({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...call });
  await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' });
  const done = await work();
  await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', ...done });
}

const execute = (command: string): Call => ({ title: command, kind: 'execute', rawInput: { command } });

function runShell(command: string, { session, signal }: Script): Promise<Record<string, unknown>> {
  return new Promise((done) => {
    const child = spawn('/bin/sh', ['-c', command], { cwd: session.cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    const stop = () => child.kill('SIGKILL');
    signal.addEventListener('abort', stop);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => pieces.push(piece));
    child.on('close', (code) => {
      signal.removeEventListener('abort', stop);
      const text = Buffer.concat(pieces).toString();
      done({
        status: code === 0 ? 'completed' : 'failed',
        content: output(text),
        rawOutput: { output: text, exitCode: code },
      });
    });
  });
}

/** Calls of `work` so far. */
let worked = 0;

export const tools = {
  /** `run echo hi`: pretends. */
  run: (script, rest) => {
    const text = `${rest.startsWith('echo ') ? rest.slice('echo '.length) : `ran ${rest}`}\n`;
    return use(script, execute(rest), () => ({
      content: output(text),
      rawOutput: { output: text, exitCode: 0 },
    }));
  },

  /** `tick 100 20`: so many calls, with so many milliseconds between them. */
  tick: async (script, rest) => {
    const [count = 0, ms = 0] = rest.split(' ').map(Number);
    for (let i = 0; i < count && !script.signal.aborted; i++) {
      await tools.run(script, 'echo tick');
      await wait(ms);
    }
  },

  /** `work 10 50`: the same, and each call names the agent and counts on through its life. */
  work: async (script, rest) => {
    const [count = 0, ms = 0] = rest.split(' ').map(Number);
    for (let i = 0; i < count && !script.signal.aborted; i++) {
      worked += 1;
      await tools.run(script, `echo agent-${agentId}#${worked}`);
      await wait(ms);
    }
  },

  'really-run': (script, rest) => use(script, execute(rest), () => runShell(rest, script)),

  /** `run-forever cmd`: a call that never ends. */
  'run-forever': ({ update }, rest) =>
    update({ sessionUpdate: 'tool_call', toolCallId: randomUUID(), status: 'in_progress', ...execute(rest) }),

  /** `edit path text`: writes the file. */
  edit: (script, rest) => {
    const [, name = '', newText = ''] = /^(\S+)\s*(.*)$/.exec(rest) ?? [];
    const path = resolve(script.session.cwd, name);
    return use(script, { title: `Edit ${name}`, kind: 'edit', locations: [{ path }] }, () => {
      const oldText = existsSync(path) ? readFileSync(path, 'utf8') : null;
      writeFileSync(path, newText);
      return { content: [{ type: 'diff', path, oldText, newText }] };
    });
  },

  read: (script, rest) => {
    const path = resolve(script.session.cwd, rest);
    return use(script, { title: `Read ${rest}`, kind: 'read', locations: [{ path }] }, () =>
      existsSync(path)
        ? { content: output(readFileSync(path, 'utf8')) }
        : { status: 'failed', content: output('no such file') },
    );
  },

  /** `mcp server tool`: pretends. */
  mcp: (script, rest) => {
    const [server, tool] = rest.split(' ');
    const call: Call = { title: `mcp__${server}__${tool}`, kind: 'other', rawInput: { query: 'fake' } };
    return use(script, call, () => ({ content: output(`${tool} of ${server} answered`) }));
  },

  /** `ask delete everything`: asks for leave, and says what came of it. A first word that is a kind counts as one. */
  ask: async ({ update, client, session, say }, rest) => {
    const toolCallId = randomUUID();
    const kind = kinds.find((name) => rest.startsWith(name)) ?? 'other';
    const toolCall = { toolCallId, title: rest, kind: kind as ToolKind, rawInput: { request: rest } };
    await update({ sessionUpdate: 'tool_call', status: 'pending', ...toolCall });
    const request: RequestPermissionRequest = {
      sessionId: session.id,
      toolCall,
      options: [
        { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
        { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ],
    };
    const { outcome } = await client.request(methods.client.session.requestPermission, request);
    const answer = outcome.outcome === 'selected' ? outcome.optionId : 'cancelled';
    const allowed = answer === 'once' || answer === 'always';
    await update({ sessionUpdate: 'tool_call_update', toolCallId, status: allowed ? 'completed' : 'failed' });
    await say(`the answer was ${answer}`);
  },

  /** `ask-many 100`: so many questions at once. */
  'ask-many': async ({ client, session }, rest) => {
    const ask = () =>
      client.request<unknown>(methods.client.session.requestPermission, {
        sessionId: session.id,
        toolCall: { toolCallId: randomUUID(), title: 'one of many' },
        options: [{ optionId: 'once', name: 'Allow once', kind: 'allow_once' }],
      });
    await Promise.all(Array.from({ length: Number(rest) }, ask));
  },

  /** `call method`: asks the client for something by its method, and says how it was refused. */
  call: async ({ client, session, say }, rest) => {
    const answer = await client.request(rest, { sessionId: session.id }).then(
      () => 'granted',
      (error: { code?: number }) => `refused ${error.code}`,
    );
    await say(answer);
  },

  /** `spawn-child [detached]`: leaves a process behind, its id in HOME/child.pid. */
  'spawn-child': ({ say }, rest) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      detached: rest === 'detached',
      stdio: 'ignore',
    });
    child.unref();
    writeFileSync(join(homedir(), 'child.pid'), String(child.pid));
    return say(`child ${child.pid}`);
  },
} satisfies Readonly<Record<string, Command>>;
