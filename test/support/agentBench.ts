// The built-in agent and a client in the same process, with the scripted model instead of the gateway.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ContentBlock,
  client,
  type McpServer,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { createAgentApp } from '../../src/agents/builtin/app.ts';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import type { CurrentModel } from '../../src/gateway/currentModel.ts';
import { protocolBases } from '../../src/models/protocols.ts';
import { createRawModel, type RawAnswer, type RawModel } from './rawModel.ts';

export interface AgentBenchOptions {
  readonly script?: readonly Step[];
  /** Used instead of the scripted one. */
  readonly model?: ScriptedModel;
  readonly current?: Partial<CurrentModel>;
  readonly condenses?: boolean;
  readonly retryMs?: number;
  /** The home of an earlier agent. */
  readonly home?: string;
  readonly cwd?: string;
  readonly mcpServers?: readonly McpServer[];
  /** Chooses an option; allows once by default. */
  readonly answer?: (request: RequestPermissionRequest) => string | 'cancelled';
}

export function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function serve(t: TestContext, model: ScriptedModel, current: () => CurrentModel): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/current') response.end(JSON.stringify(current()));
    else model.handle(request, response, request.url ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function startAgentBench(t: TestContext, options: AgentBenchOptions = {}) {
  const { script = [], condenses = false, mcpServers = [], answer = () => 'once' } = options;
  const model = options.model ?? createScriptedModel(script);
  const home = options.home ?? temporary(t);
  const cwd = options.cwd ?? temporary(t);
  let current: CurrentModel = {
    name: 'm',
    protocol: 'openai-chat',
    base: protocolBases['openai-chat'],
    fault: null,
    context: null,
    max_output: null,
    images: null,
    ...options.current,
  };
  const gateway = await serve(t, model, () => current);
  const { app, close } = createAgentApp({
    config: { gateway, token: 'run-token', condenses },
    home,
    env: process.env,
    retryMs: options.retryMs ?? 2,
  });
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const toClient = new TransformStream<Uint8Array, Uint8Array>();
  app.connect(ndJsonStream(toClient.writable, toAgent.readable));
  t.after(close);

  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const connection = client({ name: 'bench' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      const optionId = answer(params);
      return {
        outcome:
          optionId === 'cancelled' ? { outcome: optionId } : { outcome: 'selected' as const, optionId },
      };
    })
    .connect(ndJsonStream(toAgent.writable, toClient.readable));
  const agent = connection.agent;
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });

  let sessionId = '';
  return {
    model,
    home,
    cwd,
    updates,
    asked,
    close,
    sessionId: () => sessionId,
    setCurrent: (change: Partial<CurrentModel>) => {
      current = { ...current, ...change };
    },
    open: async () => {
      const opened = await agent.request(methods.agent.session.new, { cwd, mcpServers: [...mcpServers] });
      sessionId = opened.sessionId;
    },
    resume: async (id: string) => {
      await agent.request(methods.agent.session.resume, { sessionId: id, cwd, mcpServers: [...mcpServers] });
      sessionId = id;
    },
    prompt: async (said: string | ContentBlock[]) => {
      const prompt = typeof said === 'string' ? [{ type: 'text' as const, text: said }] : said;
      return (await agent.request(methods.agent.session.prompt, { sessionId, prompt })).stopReason;
    },
    cancel: () => agent.notify(methods.agent.session.cancel, { sessionId }),
    /** The whole text so far. */
    said: () =>
      updates
        .map((update) =>
          update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
            ? update.content.text
            : '',
        )
        .join(''),
    /** The outcomes of the calls, in order. */
    ended: () =>
      updates.flatMap((update) =>
        update.sessionUpdate === 'tool_call_update' &&
        (update.status === 'completed' || update.status === 'failed')
          ? [update]
          : [],
      ),
  };
}

export type AgentBench = Awaited<ReturnType<typeof startAgentBench>>;

/** Starts with a handwritten model and an open session. */
export async function startRawBench(
  t: TestContext,
  answers: readonly RawAnswer[],
  more: AgentBenchOptions = {},
): Promise<AgentBench & Pick<RawModel, 'bodies'>> {
  const model = createRawModel(answers);
  const bench = await startAgentBench(t, { ...more, model });
  await bench.open();
  return { ...bench, bodies: model.bodies };
}
