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

export function createOpenAnswers(): OpenAnswers {
  const bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  let current: Generation = { open: 0, onSettled: undefined };

  return {
    follow: ({ socket }, response) => {
      const generation = current;
      let open = bySocket.get(socket);
      if (open === undefined) {
        open = new Set();
        bySocket.set(socket, open);
      }
      const answers = open;
      answers.add(response);
      generation.open += 1;
      response.once('close', () => {
        answers.delete(response);
        generation.open -= 1;
        if (generation.open === 0) generation.onSettled?.();
      });
    },
    isAwaitedOn: (socket) =>
      [...(bySocket.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete),
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
