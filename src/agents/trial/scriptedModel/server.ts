// Serves a script to agents in the protocol of each. Agents may use any path before its last part.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CurrentModel, currentModelPath } from '../../../gateway/currentModel.ts';
import { type Protocol, protocolBases } from '../../../models/protocols.ts';
import { mib } from '../../../validation/schema.ts';
import { anthropic } from './anthropic.ts';
import { deliver, refuse, sendJson, streamDelivery, wholeDelivery } from './delivery.ts';
import { gemini } from './gemini.ts';
import { type InjectedFault, splitScript } from './injectedFaults.ts';
import { openaiChat } from './openaiChat.ts';
import { openaiResponses } from './openaiResponses.ts';
import { type Answer, answerTo, type ModelRequest, type Step } from './script.ts';
import { type Json, type ModelProtocol, scriptedUsage } from './wire.ts';

const protocols: readonly ModelProtocol[] = [openaiChat, openaiResponses, anthropic, gemini];

const bodyBytesMax = 32 * mib;
/** An agent with more requests is in a loop. The status 402 ends every agent. */
const requestsMaxDefault = 200;

export interface Exchange {
  readonly request: ModelRequest;
  readonly answer: Answer;
  /** The fault that was injected. */
  readonly fault?: InjectedFault;
}

export interface ScriptedModel {
  /** Answers a request. `path` may have a query. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): void;
  /** The requests and answers so far, oldest first. */
  readonly exchanges: readonly Exchange[];
}

async function readBody(request: IncomingMessage): Promise<Json | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > bodyBytesMax) return undefined;
    pieces.push(piece);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(pieces).toString());
    return typeof body === 'object' && body !== null ? (body as Json) : undefined;
  } catch {
    return undefined;
  }
}

function currentModel(name: string, protocol: Protocol): CurrentModel {
  const base = protocolBases[protocol];
  return { name, protocol, base, fault: null, context: null, max_output: null, images: null };
}

/** Answers other requests of agents: token counts and lists of models. */
function answerOther(response: ServerResponse, path: string, current: CurrentModel): void {
  const { input } = scriptedUsage;
  if (/count_?tokens$/i.test(path)) sendJson(response, 200, { input_tokens: input, totalTokens: input });
  else if (/\/models$/.test(path)) sendJson(response, 200, { object: 'list', data: [], models: [] });
  else if (path === currentModelPath) sendJson(response, 200, current);
  else refuse(response, 404, 'The scripted model knows no such path.');
}

interface ModelOptions {
  readonly requestsMax?: number;
  /** The name of the model for agents that ask. */
  readonly name?: string;
  readonly protocol?: Protocol;
}

export function createScriptedModel(
  script: readonly Step[],
  {
    requestsMax = requestsMaxDefault,
    name = 'scripted',
    protocol: spoken = 'openai-chat',
  }: ModelOptions = {},
): ScriptedModel {
  const exchanges: Exchange[] = [];
  const { work, nextFault } = splitScript(script);

  async function reply(incoming: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const protocol = protocols.find((candidate) => candidate.path.test(path));
    if (protocol === undefined || incoming.method !== 'POST')
      return answerOther(response, path, currentModel(name, spoken));
    if (exchanges.length >= requestsMax) return refuse(response, 402, 'The agent sends too many requests.');
    const body = await readBody(incoming);
    if (body === undefined) return refuse(response, 400, 'The body is not a JSON object, or too large.');
    const request = protocol.read(body, path);
    const { answer, at } = answerTo(work, request);
    const fault = at === undefined ? undefined : nextFault(at);
    exchanges.push({ request, answer, ...(fault === undefined ? {} : { fault }) });
    const delivery = request.stream
      ? streamDelivery(protocol.parts(answer, request.model))
      : wholeDelivery(protocol.whole(answer, request.model));
    await deliver(response, delivery, fault);
  }

  return {
    exchanges,
    handle: (request, response, path) => {
      const [plain = ''] = path.split('?', 1);
      reply(request, response, plain).catch(() => response.destroy());
    },
  };
}

/** Serves the model on a loopback port, for clients without a bridge. */
export async function listenScriptedModel(
  model: ScriptedModel,
): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer((request, response) => model.handle(request, response, request.url ?? ''));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
