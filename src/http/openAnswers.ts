// Tracks which responses are still open, so that a shutdown can wait for them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface OpenAnswers {
  follow(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the client of this connection waits for a response or has received a part of one. */
  isAwaitedOn(socket: Socket): boolean;
  /** Resolves when all responses that are open now have been sent or cut off. */
  settled(): Promise<void>;
}

/** Counts the open responses that began between two calls of `settled`. */
interface Generation {
  open: number;
  onSettled: (() => void) | undefined;
}

// Stored on the objects themselves: a map of all connections would burden the garbage collector with every request.
const openHere = Symbol('open answers');
const begunIn = Symbol('generation');

type FollowedSocket = Socket & { [openHere]?: Set<ServerResponse> };
type FollowedResponse = ServerResponse & { [begunIn]?: Generation };

/** Shared by all responses, so that none needs a closure of its own. */
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
