// Serves a script to agents, in the protocol that each of them speaks. What precedes the last part of a path is theirs.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CurrentModel, currentModelPath } from '../../../gateway/currentModel.ts';
import { type Protocol, protocolBases } from '../../../models/protocols.ts';
import { mib } from '../../../validation/schema.ts';
import { anthropic } from './anthropic.ts';
import { deliver, refuse, sendJson, streamDelivery, wholeDelivery } from './delivery.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openaiChat.ts';
import { openaiResponses } from './openaiResponses.ts';
import { type Answer, type Asked, answerTo, type Step } from './script.ts';
import { splitScript, type Trouble } from './troubles.ts';
import { type Json, type ModelProtocol, scriptedUsage } from './wire.ts';

const protocols: readonly ModelProtocol[] = [openaiChat, openaiResponses, anthropic, gemini];

const bodyBytesMax = 32 * mib;
/** An agent that asks so often is in a circle. 402 is the answer that ends all of them. */
const usualRequestsMax = 200;

export interface Exchange {
  readonly asked: Asked;
  readonly answer: Answer;
  /** What befell it on its way. */
  readonly trouble?: Trouble;
}

export interface ScriptedModel {
  /** Answers a request. `path` may have a query. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): void;
  /** What was asked and answered so far, oldest first. */
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

/** What agents ask beside the work: how much a text is, and which models there are. */
function aside(response: ServerResponse, path: string, current: CurrentModel): void {
  const { input } = scriptedUsage;
  if (/count_?tokens$/i.test(path)) sendJson(response, 200, { input_tokens: input, totalTokens: input });
  else if (/\/models$/.test(path)) sendJson(response, 200, { object: 'list', data: [], models: [] });
  else if (path === currentModelPath) sendJson(response, 200, current);
  else refuse(response, 404, 'The scripted model knows no such path.');
}

interface ModelOptions {
  readonly requestsMax?: number;
  /** What it says it is, to agents that ask. */
  readonly name?: string;
  readonly protocol?: Protocol;
}

export function createScriptedModel(
  script: readonly Step[],
  { requestsMax = usualRequestsMax, name = 'scripted', protocol: spoken = 'openai-chat' }: ModelOptions = {},
): ScriptedModel {
  const exchanges: Exchange[] = [];
  const { work, meet } = splitScript(script);

  async function reply(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const protocol = protocols.find((candidate) => candidate.path.test(path));
    if (protocol === undefined || request.method !== 'POST')
      return aside(response, path, currentModel(name, spoken));
    if (exchanges.length >= requestsMax) return refuse(response, 402, 'The agent asks without end.');
    const body = await readBody(request);
    if (body === undefined) return refuse(response, 400, 'The body is not a JSON object, or too large.');
    const asked = protocol.read(body, path);
    const { answer, at } = answerTo(work, asked);
    const trouble = at === undefined ? undefined : meet(at);
    exchanges.push({ asked, answer, ...(trouble === undefined ? {} : { trouble }) });
    const delivery = asked.stream
      ? streamDelivery(protocol.parts(answer, asked.model))
      : wholeDelivery(protocol.whole(answer, asked.model));
    await deliver(response, delivery, trouble);
  }

  return {
    exchanges,
    handle: (request, response, path) => {
      const [plain = ''] = path.split('?', 1);
      reply(request, response, plain).catch(() => response.destroy());
    },
  };
}

/** Serves it on a port of the loopback, for whatever is not behind a bridge. */
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
