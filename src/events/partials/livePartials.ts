// Finds the texts that a conversation is writing: those of its run in this process, or in another one.
import type { ConversationName } from '../../conversations/id.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import type { PartialText } from '../decoder/openTexts.ts';
import { createRunPartials, type RunPartials, type SubscribablePartials } from './runPartials.ts';

export interface PartialListener {
  add(partials: readonly PartialText[]): void;
  /** All texts so far are gone, because their run has ended or cannot be reached. */
  reset(): void;
}

export interface PartialSubscription {
  /** The log has new events, so a run may have begun elsewhere. */
  onEvents(): void;
  close(): void;
}

export interface LiveConversation extends ConversationName {
  readonly key: number;
}

/** Subscribes to the texts of a conversation, wherever its run is. */
export type SubscribeToPartials = (
  conversation: LiveConversation,
  listener: PartialListener,
) => PartialSubscription;

export type LivePartials = ReturnType<typeof createLivePartials>;

interface LiveRunPartials {
  readonly runId: string;
  readonly texts: SubscribablePartials;
}

export function createLivePartials(clock: Clock = systemClock) {
  const runs = new Map<number, LiveRunPartials>();
  const listeners = new Map<number, Set<PartialListener>>();
  const unsubscribes = new Map<PartialListener, () => void>();

  function attach(listener: PartialListener, texts: SubscribablePartials): void {
    unsubscribes.set(listener, texts.subscribe(listener.add));
  }

  function detach(listener: PartialListener): void {
    unsubscribes.get(listener)?.();
    unsubscribes.delete(listener);
  }

  function subscribe(key: number, listener: PartialListener): () => void {
    const all = listeners.get(key) ?? new Set();
    listeners.set(key, all.add(listener));
    const run = runs.get(key);
    if (run !== undefined) attach(listener, run.texts);
    return () => {
      detach(listener);
      all.delete(listener);
      if (all.size === 0 && listeners.get(key) === all) listeners.delete(key);
    };
  }

  return {
    /** Called when a run begins. Its texts are gone when it ends. */
    begin: (
      key: number,
      runId: string,
      recordPending?: () => Promise<void> | undefined,
    ): { readonly texts: RunPartials; end(): void } => {
      const texts = createRunPartials({ clock, ...(recordPending && { recordPending }) });
      runs.set(key, { runId, texts });
      for (const listener of listeners.get(key) ?? []) {
        detach(listener);
        listener.reset();
        attach(listener, texts);
      }
      const end = () => {
        if (runs.get(key)?.texts !== texts) return;
        runs.delete(key);
        for (const listener of listeners.get(key) ?? []) {
          detach(listener);
          listener.reset();
        }
      };
      return { texts, end };
    },
    /** The run of a conversation in this process. */
    runOf: (key: number): string | undefined => runs.get(key)?.runId,
    /** Sends what there is now, then what is added, and the same for later runs. */
    subscribe,
  };
}
