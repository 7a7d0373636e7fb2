// Messages of the user that wait for the agent: it gets all that came while it was busy in one turn.
import type { UserMessage } from './inbox.ts';

export interface Messages {
  add(event: UserMessage): void;
  isEmpty(): boolean;
  /** Those that wait, at least one; waits for the first. */
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
