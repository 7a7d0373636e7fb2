// The gateway on its own port, as if behind a bridge, and one request in each API.
import type { IncomingMessage, RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { createGateway, type GatewayOptions } from '../../src/gateway/handler.ts';
import { createMeter, type Limits, type ModelLimit } from '../../src/gateway/usage/meter.ts';
import { loadModels } from '../../src/models/catalogue.ts';
import { listenOnLoopback } from './mcpServer.ts';

export const modelKey = 'sk-hunter2-hunter2';
const noLimits: Limits = { requestsMax: null, costNanosMax: null };

export interface TestGateway {
  readonly url: string;
  readonly notices: string[];
  readonly limits: ModelLimit[];
  readonly meter: ReturnType<typeof createMeter>;
  /** Starts a turn with unchanged settings. */
  beginTurn(): void;
}

export type TestGatewayOptions = Partial<GatewayOptions> & { limits?: Limits };

export async function openGateway(t: TestContext, more: TestGatewayOptions): Promise<TestGateway> {
  const notices: string[] = [];
  const limits: ModelLimit[] = [];
  const meter = createMeter({
    limits: more.limits ?? noLimits,
    spentNanos: 0,
    onLimit: (l) => limits.push(l),
  });
  const target = { model: 'openai/gpt-4o', baseUrl: null, key: modelKey, ...more };
  const gateway = createGateway({
    modelHosts: {},
    models: loadModels(),
    meter,
    allowPrivate: () => false,
    onNotice: (sentence) => notices.push(sentence),
    ...target,
  });
  t.after(gateway.close);
  const server = await listenOnLoopback(t, (request, response) => {
    Promise.resolve(gateway.handle(request, response, request.url ?? '')).catch(() => response.destroy());
  });
  const beginTurn = () => {
    gateway.beginTurn(target);
    meter.beginTurn();
  };
  return { url: server.url, notices, limits, meter, beginTurn };
}

export function post(url: string, path: string, body: unknown, headers = {}): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

export const modelRequests = [
  {
    name: 'openai-chat',
    model: 'openai/gpt-4o',
    path: '/openai/v1/chat/completions',
    body: { model: 'whatever', messages: [{ role: 'user', content: 'hi' }] },
    sentKey: (headers: IncomingMessage['headers']) => headers.authorization === `Bearer ${modelKey}`,
  },
  {
    name: 'openai-responses',
    model: 'openai/gpt-4o',
    path: '/openai/v1/responses',
    body: { model: 'whatever', input: 'hi' },
    sentKey: (headers: IncomingMessage['headers']) => headers.authorization === `Bearer ${modelKey}`,
  },
  {
    name: 'anthropic',
    model: 'anthropic/claude-sonnet-4-5',
    path: '/anthropic/v1/messages',
    body: { model: 'whatever', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] },
    sentKey: (headers: IncomingMessage['headers']) => headers['x-api-key'] === modelKey,
  },
  {
    name: 'gemini',
    model: 'gemini/gemini-2.5-flash',
    path: '/gemini/v1beta/models/whatever:generateContent',
    streamPath: '/gemini/v1beta/models/a/b:streamGenerateContent?alt=sse&key=theirs',
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    sentKey: (headers: IncomingMessage['headers']) => headers['x-goog-api-key'] === modelKey,
  },
] as const;

/** All providers at this URL. */
export function hostsAt(url: string) {
  return { openai: url, anthropic: url, gemini: url };
}

/** A provider with these responses, and the gateway in front of it. `ask` sends a chat completions request. */
export async function withProvider(t: TestContext, answer: RequestListener, more: TestGatewayOptions = {}) {
  const provider = await listenOnLoopback(t, answer);
  const gateway = await openGateway(t, { modelHosts: hostsAt(provider.url), ...more });
  const [{ path, body }] = modelRequests;
  const ask = (headers = {}, change = {}) => post(gateway.url, path, { ...body, ...change }, headers);
  return { provider, ask, ...gateway };
}
