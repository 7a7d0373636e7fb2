// A provider of chat completions with handwritten responses, for what the scripted model would never send.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into requests of any shape
export type RawBody = any;
export type RawAnswer = (response: ServerResponse, body: RawBody) => void;

export interface RawModel extends ScriptedModel {
  /** The requests of the work, oldest first. */
  readonly bodies: readonly RawBody[];
}

const title = { choices: [{ index: 0, message: { role: 'assistant', content: 'A title' } }] };

async function readBody(request: IncomingMessage): Promise<RawBody> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

/** Sends these responses in order, and repeats the last. */
export function createRawModel(answers: readonly RawAnswer[]): RawModel {
  const bodies: RawBody[] = [];
  return {
    bodies,
    exchanges: [],
    handle: async (request, response) => {
      const body = await readBody(request);
      if (body.stream !== true) return void response.end(JSON.stringify(title));
      bodies.push(body);
      answers[Math.min(bodies.length, answers.length) - 1]?.(response, body);
    },
  };
}

export interface RawCall {
  readonly name: string;
  readonly arguments: string;
}

const chunk = (choice: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}

/** A stream of these deltas with this finish reason; null for none. */
export function stream(deltas: readonly object[], reason: string | null = 'stop'): RawAnswer {
  return (response) => {
    begin(response);
    for (const delta of deltas) response.write(chunk({ delta }));
    if (reason !== null) response.write(`${chunk({ delta: {}, finish_reason: reason })}data: [DONE]\n\n`);
    response.end();
  };
}

export const saying = (content: string, reason = 'stop') => stream([{ role: 'assistant', content }], reason);

export function calling(calls: readonly RawCall[], reason = 'tool_calls'): RawAnswer {
  const tool_calls = calls.map((call, index) => ({
    index,
    id: `call_${index}_${call.name}`,
    type: 'function',
    function: call,
  }));
  return stream([{ role: 'assistant', content: null, tool_calls }], reason);
}

export const run = (command: string): RawCall => ({ name: 'bash', arguments: JSON.stringify({ command }) });

/** A stream that is cut off after these deltas. */
export function cutOff(deltas: readonly object[]): RawAnswer {
  return (response) => {
    begin(response);
    response.write(deltas.map((delta) => chunk({ delta })).join(''), () => response.socket?.destroy());
  };
}

/** A stream of these lines, whatever they are. */
export function lines(...texts: readonly string[]): RawAnswer {
  return (response) => {
    begin(response);
    response.end(texts.map((text) => `${text}\n\n`).join(''));
  };
}

export function refusing(status: number, message: string): RawAnswer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
  };
}
