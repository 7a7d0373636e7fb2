// Follows each answer from its request until it is out or its connection is gone.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface OpenAnswers {
  follow(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the client of this connection waits for an answer, or has a part of one. */
  isAwaitedOn(socket: Socket): boolean;
  /** Resolves once all answers that are open now are out. */
  settled(): Promise<void>;
}

/** The answers that were begun between two calls of `settled`. */
interface Generation {
  open: number;
  onSettled: (() => void) | undefined;
}

// Kept on the objects themselves: the garbage collector would have to walk a map of all connections, for each request.
const openHere = Symbol('open answers');
const begunIn = Symbol('generation');

type FollowedSocket = Socket & { [openHere]?: Set<ServerResponse> };
type FollowedResponse = ServerResponse & { [begunIn]?: Generation };

/** One function for all answers, so that none needs a closure. */
function forget(this: FollowedResponse): void {
  const generation = this[begunIn];
  (this.req.socket as FollowedSocket)[openHere]?.delete(this);
  if (generation === undefined) return;
  generation.open -= 1;
  if (generation.open === 0) generation.onSettled?.();
}

export function createOpenAnswers(): OpenAnswers {
  let current: Generation = { open: 0, onSettled: undefined };

  return {
    follow: (request, response: FollowedResponse) => {
      const socket: FollowedSocket = request.socket;
      socket[openHere] ??= new Set();
      socket[openHere].add(response);
      response[begunIn] = current;
      current.open += 1;
      response.on('close', forget);
    },
    isAwaitedOn: (socket: FollowedSocket) =>
      [...(socket[openHere] ?? [])].some(({ headersSent, req }) => headersSent || req.complete),
    settled: () => {
      const generation = current;
      current = { open: 0, onSettled: undefined };
      if (generation.open === 0) return Promise.resolve();
      return new Promise((resolve) => {
        generation.onSettled = resolve;
      });
    },
  };
}
