// Messages of the user that wait for the agent. It gets all that arrived while it was busy in one turn.
import type { UserMessage } from './inbox.ts';

export interface Messages {
  add(event: UserMessage): void;
  isEmpty(): boolean;
  /** Returns the waiting messages, and waits for the first if there is none. */
  take(): Promise<readonly UserMessage[]>;
}

export function createMessages(): Messages {
  let waiting: UserMessage[] = [];
  let arrived = Promise.withResolvers<void>();
  return {
    add: (event) => {
      waiting.push(event);
      arrived.resolve();
    },
    isEmpty: () => waiting.length === 0,
    take: async () => {
      await arrived.promise;
      const taken = waiting;
      waiting = [];
      arrived = Promise.withResolvers<void>();
      return taken;
    },
  };
}
