// Messages of the user that wait for the agent. It gets all that arrived while it was busy in one turn, unless the user
// cancels them before that.
import type { UserMessage } from './inbox.ts';

export interface Cancellation {
  /** The event with which the user cancelled everything before it. */
  readonly id: number;
  /** Whether messages were waiting that the agent does not get now. */
  readonly dropped: boolean;
}

export interface Messages {
  add(event: UserMessage): void;
  /** Drops the waiting messages, which are all before the event `id`. */
  cancel(id: number): void;
  isEmpty(): boolean;
  /** Settles when a message waits or the user has cancelled. */
  arrival(): Promise<void>;
  /** Returns the waiting messages, which may be none. */
  take(): readonly UserMessage[];
  /** Returns what the user has cancelled since the last call. */
  takeCancellation(): Cancellation | undefined;
  isCancelled(): boolean;
  /** Sets the only listener; undefined removes it. */
  onCancel(listener: (() => void) | undefined): void;
}

export function createMessages(): Messages {
  let waiting: UserMessage[] = [];
  let cancellation: Cancellation | undefined;
  let listener: (() => void) | undefined;
  let arrived = Promise.withResolvers<void>();
  return {
    add: (event) => {
      waiting.push(event);
      arrived.resolve();
    },
    cancel: (id) => {
      cancellation = { id, dropped: waiting.length > 0 || cancellation?.dropped === true };
      waiting = [];
      arrived.resolve();
      listener?.();
    },
    isEmpty: () => waiting.length === 0,
    arrival: async () => {
      while (waiting.length === 0 && cancellation === undefined) {
        arrived = Promise.withResolvers<void>();
        await arrived.promise;
      }
    },
    take: () => {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    takeCancellation: () => {
      const taken = cancellation;
      cancellation = undefined;
      return taken;
    },
    isCancelled: () => cancellation !== undefined,
    onCancel: (next) => {
      listener = next;
    },
  };
}
