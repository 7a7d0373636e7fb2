// Finds the texts that a conversation is writing: those of its run in this process, or in another one.
import type { ConversationName } from '../../conversations/id.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import type { Partial } from '../decoder/openTexts.ts';
import { createRunTexts, type RunTexts, type SubscribableTexts } from './runTexts.ts';

export interface PartialListener {
  add(partials: readonly Partial[]): void;
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

/** Subscribes to the texts of a run in another process. */
export type SubscribeElsewhere = (
  conversation: LiveConversation,
  listener: PartialListener,
) => PartialSubscription;

export type LiveTexts = ReturnType<typeof createLiveTexts>;

export function createLiveTexts(clock: Clock = systemClock) {
  const runs = new Map<number, SubscribableTexts>();
  const listeners = new Map<number, Set<PartialListener>>();
  const unsubscribes = new Map<PartialListener, () => void>();

  function attach(listener: PartialListener, texts: SubscribableTexts): void {
    unsubscribes.set(listener, texts.subscribe(listener.add));
  }

  function detach(listener: PartialListener): void {
    unsubscribes.get(listener)?.();
    unsubscribes.delete(listener);
  }

  function subscribe(key: number, listener: PartialListener): () => void {
    const all = listeners.get(key) ?? new Set();
    listeners.set(key, all.add(listener));
    const texts = runs.get(key);
    if (texts !== undefined) attach(listener, texts);
    return () => {
      detach(listener);
      all.delete(listener);
      if (all.size === 0 && listeners.get(key) === all) listeners.delete(key);
    };
  }

  return {
    /** Called when a run begins. Its texts are gone when it ends. */
    begin: (key: number): { readonly texts: RunTexts; end(): void } => {
      const texts = createRunTexts(clock);
      runs.set(key, texts);
      for (const listener of listeners.get(key) ?? []) {
        detach(listener);
        listener.reset();
        attach(listener, texts);
      }
      const end = () => {
        if (runs.get(key) !== texts) return;
        runs.delete(key);
        for (const listener of listeners.get(key) ?? []) {
          detach(listener);
          listener.reset();
        }
      };
      return { texts, end };
    },
    /** Whether the conversation has a run in this process. */
    has: (key: number) => runs.has(key),
    /** Sends what there is now, then what is added, and the same for later runs. */
    subscribe,
    open: ({ key }: LiveConversation, listener: PartialListener): PartialSubscription => ({
      onEvents: () => {},
      close: subscribe(key, listener),
    }),
  };
}
