// The socket.io server of existing clients: it sends the events of one conversation to each socket, and takes messages
// and changes of state from it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server as Engine } from 'engine.io';
import { type Socket, Server as SocketServer } from 'socket.io';
import { UserAction } from '../conversations/lifecycle/schema.ts';
import type { Lifecycle } from '../conversations/lifecycle/service.ts';
import { AppError } from '../errors.ts';
import type { ConversationStream, Events, Stream } from '../events/service.ts';
import type { AuthFailures } from '../http/authFailures.ts';
import type { RateLimiter } from '../http/rates.ts';
import type { Principal } from '../keys/principal.ts';
import type { Keys } from '../keys/service.ts';
import { mib } from '../validation/schema.ts';
import { compileCheck } from '../validation/validation.ts';
import { readHandshake } from './handshake.ts';
import { parser } from './parser.ts';
import { createReceiveLimits } from './receiveLimits.ts';
import { changesReceiver, conversationReceiver, createUnsentChars } from './socketReceiver.ts';
import { createUpdates, errorEvent } from './translate.ts';

const socketsMax = 5_000;
/** As for the body of a request: a message may contain images. */
const messageBytesMax = 16 * mib;
/** A socket that sends more actions before the earlier ones are done is disconnected. */
const pendingActionsMax = 100;
const connectTimeoutMs = 10_000;
/** How long clients may take to close their connection when the service stops. */
const closeTimeoutMs = 1_000;

const actionFault = compileCheck(UserAction);

export interface SocketsOptions {
  readonly events: Events;
  readonly lifecycle: Lifecycle;
  readonly keys: Pick<Keys, 'authenticate' | 'authenticateAnonymous'>;
  readonly rates: RateLimiter;
  readonly failures: AuthFailures;
  readonly onBackgroundError: (error: Error) => void;
}

/** What the HTTP server knows of a connection. */
export interface Connection {
  readonly address: string;
  readonly requestId: string;
}

interface Session {
  readonly principal: Principal;
  readonly conversationId: string;
  readonly log: ConversationStream;
  readonly changes: Stream;
}

export type Sockets = ReturnType<typeof createSockets>;

export function createSockets(options: SocketsOptions) {
  const { events, lifecycle, keys, rates, failures, onBackgroundError } = options;
  const engine = new Engine({
    maxHttpBufferSize: messageBytesMax,
    // The HTTP server has checked the origin.
    cors: {},
    allowEIO3: false,
  });
  const io = new SocketServer({ connectTimeout: connectTimeoutMs, serveClient: false, parser });
  io.bind(engine);
  const limits = createReceiveLimits(engine);
  const unsent = createUnsentChars();
  /** Connections that have tried to open a session. */
  const tried = new WeakSet<object>();
  const upgraded = new Set<IncomingMessage['socket']>();
  const connections = new WeakMap<IncomingMessage, Connection>();
  let open = 0;

  /** The message that the client may see. */
  function explain(error: Error): string {
    if (error instanceof AppError && error.code !== 'internal') return error.message;
    onBackgroundError(error);
    return 'An internal error occurred.';
  }

  async function findPrincipal(socket: Socket, key: string | undefined): Promise<Principal> {
    const found = await (key === undefined
      ? keys.authenticateAnonymous()
      : keys.authenticate(key, 'session'));
    if (found?.scopes.has('conversations:read')) return found;
    const { address, requestId } = connections.get(socket.request) ?? { address: '', requestId: '' };
    const over = key === undefined ? undefined : failures.record({ address, route: 'socket.io', requestId });
    throw over ?? new AppError('unauthorized', 'invalid_session_api_key');
  }

  /** Counts the connection until it closes. Throws if too many are open. */
  function count({ conn }: Socket, principal: Principal): void {
    const over = rates.take(principal.keyId);
    if (over !== undefined) throw over;
    if (open >= socketsMax) throw new AppError('overloaded', 'Too many sockets are open; try again later.');
    const release = events.connections.open(principal);
    open += 1;
    const end = () => {
      open -= 1;
      release();
    };
    if (conn.readyState === 'closed') end();
    else conn.once('close', end);
  }

  /** Throws what the client gets as `connect_error`. */
  async function openSession(socket: Socket): Promise<Session> {
    // Otherwise a client could send this packet many times before the first one is answered.
    if (tried.has(socket.conn)) throw new AppError('invalid', 'A connection has only one session.');
    tried.add(socket.conn);
    const { query, headers } = socket.handshake;
    const { conversationId, latestEventId, key } = readHandshake(query, headers);
    if (conversationId === undefined) throw new AppError('invalid', 'No conversation_id in query params');
    const principal = await findPrincipal(socket, key);
    if (principal.conversationId !== undefined && principal.conversationId !== conversationId)
      throw new AppError('unauthorized', 'invalid_session_api_key');
    count(socket, principal);
    const [log, changes] = await Promise.all([
      events.openConversation(principal, conversationId, String(latestEventId)),
      events.openChanges(principal),
    ]);
    return { principal, conversationId, log, changes };
  }

  /** Sends the log of the conversation, and changes of its title and status. */
  function subscribe(socket: Socket, { principal, conversationId, log, changes }: Session): void {
    const toUpdates = createUpdates(conversationId, log.title);
    events.subscribe(principal, log, conversationReceiver({ socket, unsent, replayBelow: log.next }));
    events.subscribe(principal, changes, changesReceiver(socket, unsent, toUpdates));
  }

  async function act(socket: Socket, { principal, conversationId }: Session, data: unknown): Promise<void> {
    const over = rates.take(principal.keyId);
    if (over !== undefined) throw over;
    if (!principal.scopes.has('conversations:write'))
      throw new AppError('forbidden', 'This requires an API key with the scope conversations:write.');
    const fault = actionFault(data);
    if (fault !== undefined) throw fault;
    if (!socket.connected) return;
    await lifecycle.act(principal, conversationId, data as UserAction);
  }

  /** Actions of a socket are done one after the other, in the order in which they came. */
  function listen(socket: Socket, session: Session): void {
    let pending = 0;
    let last = Promise.resolve();
    const take = (data: unknown) => {
      if (pending >= pendingActionsMax) return void socket.disconnect(true);
      pending++;
      last = last
        .then(() => act(socket, session, data))
        .catch((error: Error) => void socket.emit('oh_event', errorEvent(explain(error))))
        .finally(() => pending--);
    };
    socket.on('oh_user_action', take);
    socket.on('oh_action', take);
  }

  io.use((socket, next) => {
    openSession(socket).then(
      (session) => {
        socket.data = session;
        next();
      },
      (error: Error) => next(new Error(explain(error))),
    );
  });
  io.on('connection', (socket) => {
    const session = socket.data as Session;
    limits.accept(socket.conn);
    // A client that leaves the namespace must not keep the connection.
    socket.on('disconnect', () => socket.conn.close());
    // Malformed packets are reported as an error of the socket.
    socket.on('error', () => socket.disconnect(true));
    listen(socket, session);
    subscribe(socket, session);
  });

  return {
    checkRequest: limits.checkRequest,
    handleRequest: (request: IncomingMessage, response: ServerResponse, connection: Connection) => {
      connections.set(request, connection);
      engine.handleRequest(request as Parameters<Engine['handleRequest']>[0], response);
    },
    handleUpgrade: (request: IncomingMessage, head: Buffer, connection: Connection) => {
      const { socket } = request;
      connections.set(request, connection);
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      engine.handleUpgrade(request as Parameters<Engine['handleUpgrade']>[0], socket, head);
      limits.watchUpgraded(request);
    },
    close: async () => {
      io.disconnectSockets(true);
      engine.close();
      setTimeout(() => {
        for (const socket of upgraded) socket.destroy();
      }, closeTimeoutMs).unref();
    },
  };
}
