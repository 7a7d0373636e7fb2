// Subscribes to the texts of a run in another process of the cluster: one connection per conversation, only while
// somebody reads them. A process that cannot be reached only means that there are no partials.
import { StringDecoder } from 'node:string_decoder';
import type { Agent, Dispatcher } from 'undici';
import type { ConversationName } from '../conversations/id.ts';
import type {
  LiveConversation,
  LivePartials,
  PartialListener,
  PartialSubscription,
  SubscribeToPartials,
} from '../events/partials/livePartials.ts';
import type { RelayLine } from '../events/partials/relay.ts';
import type { Principal } from '../keys/principal.ts';
import type { Nodes } from '../nodes/service.ts';
import { nodeTokenHeader } from '../nodes/token.ts';
import type { Clock } from '../process/clock.ts';
import { mib } from '../validation/schema.ts';
import { discardBody } from './passOn.ts';

const connectTimeoutMs = 3_000;
const headersTimeoutMs = 10_000;
/** The other process sends a line every 15 s. */
const bodyTimeoutMs = 45_000;
/** The limit for this process. Readers of further conversations get no partials. */
const connectionsMax = 1_000;
/** A line has less than all texts of a run. */
const lineCharsMax = 8 * mib;

export interface RemotePartialsTimes {
  /** A run that was not found is searched again after this time at the earliest, if the log has grown. */
  readonly searchMs: number;
  /** The longest time between attempts while a process cannot be reached. */
  readonly retryMaxMs: number;
  /** While connected, new events are a reason to check whether the run has moved, but not more often than this. */
  readonly checkMs: number;
}

const defaultTimes: RemotePartialsTimes = { searchMs: 1_000, retryMaxMs: 30_000, checkMs: 5_000 };

interface RemotePartialsOptions {
  readonly nodes: Pick<Nodes, 'findRunLocation' | 'sign'>;
  readonly livePartials: LivePartials;
  readonly nextId: () => string;
  readonly clock: Clock;
  readonly times?: Partial<RemotePartialsTimes> | undefined;
}

/** The process reads for all subscribers of the conversation, who have shown their keys. */
function principalOf({ userId, id }: ConversationName): Principal {
  return {
    userId,
    userName: '',
    keyId: 'partials',
    keyName: 'partials',
    via: 'session',
    scopes: new Set(['conversations:read']),
    expiresAt: Number.POSITIVE_INFINITY,
    acceptsBearer: false,
    conversationId: id,
  };
}

/** Throws if the connection is lost. */
async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder();
  let held = '';
  for await (const piece of body) {
    const lines = (held + decoder.write(piece)).split('\n');
    held = lines.pop() ?? '';
    if (held.length > lineCharsMax) throw new Error('a line is too long');
    yield* lines;
  }
}

/** `none`: the conversation has no run elsewhere. `lost`: there is one, but no connection to it any more. */
type Outcome = 'none' | 'lost';

export function createRemotePartials(options: RemotePartialsOptions) {
  const { nodes, livePartials, nextId, clock } = options;
  const { searchMs, retryMaxMs, checkMs } = { ...defaultTimes, ...options.times };
  let agent: Agent | undefined;
  let connections = 0;

  async function openAgent(): Promise<Agent> {
    // Loaded on first use, because the service does not need it to start.
    const undici = await import('undici');
    // An agent of its own, because these connections stay open and must not keep other requests waiting.
    agent ??= new undici.Agent({
      connect: { timeout: connectTimeoutMs },
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
    });
    return agent;
  }

  async function request(
    origin: string,
    conversation: ConversationName,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData['body'] | undefined> {
    const path = `/api/conversations/${encodeURIComponent(conversation.id)}/partials`;
    const principal = principalOf(conversation);
    const token = nodes.sign({ method: 'GET', url: path, requestId: nextId(), principal });
    const headers = { [nodeTokenHeader]: token };
    const { statusCode, body } = await (await openAgent()).request({
      origin,
      path,
      method: 'GET',
      headers,
      signal,
    });
    if (statusCode === 200) return body;
    discardBody(body);
    return undefined;
  }

  /** Asks the processes one after the other. Undefined if none of them has the run. */
  async function find(urls: readonly string[], conversation: ConversationName, signal: AbortSignal) {
    for (const url of urls) {
      const body = await request(url, conversation, signal).catch(() => undefined);
      if (body !== undefined) return body;
    }
    return undefined;
  }

  function subscribe(conversation: LiveConversation, listener: PartialListener): PartialSubscription {
    const closed = new AbortController();
    let woken = Promise.withResolvers<void>();
    let connection: { readonly end: AbortController; run?: string; checkedAt: number } | undefined;

    function take({ run, reset, partials }: RelayLine): void {
      if (run !== undefined && connection !== undefined) connection.run = run;
      if (reset) listener.reset();
      if (partials !== undefined) listener.add(partials);
    }

    async function read(urls: readonly string[]): Promise<void> {
      const end = new AbortController();
      const signal = AbortSignal.any([end.signal, closed.signal]);
      connections++;
      connection = { end, checkedAt: clock.steady() };
      try {
        const body = await find(urls, conversation, signal);
        if (body === undefined) return;
        for await (const line of linesOf(body)) if (line !== '') take(JSON.parse(line));
      } catch {
        // The connection is lost, or is not needed any more.
      } finally {
        connections--;
        connection = undefined;
        if (!closed.signal.aborted) listener.reset();
      }
    }

    async function attempt(): Promise<Outcome> {
      if (livePartials.runOf(conversation.key) !== undefined || connections >= connectionsMax) return 'none';
      const place = await nodes.findRunLocation(conversation).catch(() => undefined);
      if (place === undefined || place.urls.length === 0) return 'none';
      await read(place.urls);
      return 'lost';
    }

    /** New events may come from another run. */
    async function check(): Promise<void> {
      const now = clock.steady();
      if (connection?.run === undefined || now - connection.checkedAt < checkMs) return;
      const { end, run } = connection;
      connection.checkedAt = now;
      const place = await nodes.findRunLocation(conversation).catch(() => undefined);
      if (place?.runId !== run) end.abort();
    }

    async function followRun(): Promise<void> {
      for (let failures = 0; !closed.signal.aborted; ) {
        const since = clock.steady();
        const outcome = await attempt();
        failures = outcome === 'none' || clock.steady() - since > retryMaxMs ? 0 : failures + 1;
        await clock.pause(Math.min(searchMs * 2 ** Math.max(0, failures - 1), retryMaxMs), closed.signal);
        if (outcome === 'none') await woken.promise;
        woken = Promise.withResolvers();
      }
    }

    void followRun();
    return {
      onEvents: () => {
        woken.resolve();
        void check();
      },
      close: () => {
        closed.abort();
        woken.resolve();
      },
    };
  }

  return { subscribe, close: async () => agent?.destroy() };
}

/** Subscribes to the run in this process, and in a cluster to those in others. */
export function subscribeAnywhere(
  livePartials: LivePartials,
  elsewhere: SubscribeToPartials | undefined,
): SubscribeToPartials {
  return (conversation, listener) => {
    const unsubscribe = livePartials.subscribe(conversation.key, listener);
    const remote = elsewhere?.(conversation, listener);
    return {
      onEvents: () => remote?.onEvents(),
      close: () => {
        unsubscribe();
        remote?.close();
      },
    };
  };
}
