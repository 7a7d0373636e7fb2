// The fake agent's side of the protocol: sessions, and one prompt after the other.
import { randomUUID } from 'node:crypto';
import {
  type AgentApp,
  type AgentContext,
  agent,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type SessionModeState,
} from '@agentclientprotocol/sdk';
import type { Flags } from './flags.ts';
import { holdAt } from './holds.ts';
import { noteAnswerSoon, notePrompt } from './prompts.ts';
import { runScript } from './script.ts';
import { findKept, keep, type Session } from './session.ts';

function offer({ load, resume, httpMcp, images, auth, protocol }: Flags): InitializeResponse {
  return {
    protocolVersion: protocol === 1 ? PROTOCOL_VERSION : protocol,
    agentInfo: { name: 'fake-agent', version: '1.0.0' },
    authMethods: auth === undefined ? [] : [{ id: auth, name: auth }],
    agentCapabilities: {
      loadSession: load,
      promptCapabilities: { image: images },
      mcpCapabilities: { http: httpMcp, sse: httpMcp },
      sessionCapabilities: resume ? { resume: {} } : {},
    },
  };
}

export function createFakeAgent(flags: Flags): AgentApp {
  const sessions = new Map<string, Session>();
  let authenticated = flags.auth === undefined;

  function open(
    id: string,
    { cwd, mcpServers = [] }: Pick<Session, 'cwd'> & Partial<Pick<Session, 'mcpServers'>>,
  ) {
    if (!authenticated) throw RequestError.authRequired();
    const [modeId] = flags.modes;
    sessions.set(id, { id, cwd, mcpServers, modeId, turn: undefined });
    const modes: SessionModeState | undefined = modeId === undefined ? undefined : modesOf(modeId);
    return modes === undefined ? {} : { modes };
  }

  function modesOf(currentModeId: string): SessionModeState {
    return { currentModeId, availableModes: flags.modes.map((id) => ({ id, name: id })) };
  }

  function get(id: string): Session {
    const session = sessions.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  }

  async function replay(id: string, client: AgentContext): Promise<void> {
    for (const update of findKept(id)?.history ?? [])
      await client.notify(methods.client.session.update, { sessionId: id, update });
  }

  return agent({ name: 'fake-agent' })
    .onRequest(methods.agent.initialize, () => offer(flags))
    .onRequest(methods.agent.authenticate, ({ params }) => {
      if (params.methodId !== flags.auth) throw RequestError.invalidParams(undefined, 'no such method');
      authenticated = true;
    })
    .onRequest(methods.agent.session.new, ({ params }) => {
      const sessionId = randomUUID();
      const opened = open(sessionId, params);
      keep(sessionId, {});
      return { sessionId, ...opened };
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      if (!flags.load) throw RequestError.methodNotFound(methods.agent.session.load);
      if (findKept(params.sessionId) === undefined) throw RequestError.sessionNotFound(params.sessionId);
      const opened = open(params.sessionId, params);
      await replay(params.sessionId, client);
      return opened;
    })
    .onRequest(methods.agent.session.resume, ({ params }) => {
      if (!flags.resume) throw RequestError.methodNotFound(methods.agent.session.resume);
      if (findKept(params.sessionId) === undefined) throw RequestError.sessionNotFound(params.sessionId);
      return open(params.sessionId, params);
    })
    .onRequest(methods.agent.session.setMode, async ({ params, client }) => {
      get(params.sessionId).modeId = params.modeId;
      const update = { sessionUpdate: 'current_mode_update', currentModeId: params.modeId } as const;
      await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const session = get(params.sessionId);
      const turn = new AbortController();
      session.turn = turn;
      notePrompt({ session: session.id, blocks: params.prompt });
      await holdAt('prompt');
      try {
        const stopReason = await runScript({ session, client, prompt: params.prompt, signal: turn.signal });
        await holdAt('answer');
        noteAnswerSoon();
        return { stopReason };
      } finally {
        session.turn = undefined;
      }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => get(params.sessionId).turn?.abort());
}
