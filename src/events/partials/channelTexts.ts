// The unfinished texts of a log that has subscribers.
import type { OpenText, Partial } from '../decoder/openTexts.ts';
import type { Entry, Log } from '../receiver.ts';
import { createReaderTexts } from './readerTexts.ts';

export interface ChannelTexts {
  /** The events are being sent to subscribers. */
  cover(entries: readonly Entry[]): void;
  list(): readonly OpenText[];
  close(): void;
}

/**
 * Subscribes to the texts of a log. Each change is passed as a function that applies it and returns what to send, to be
 * called in the order of everything that is sent.
 */
export function openChannelTexts(
  log: Log,
  onChange: (change: () => Partial[]) => void,
): ChannelTexts | undefined {
  const texts = createReaderTexts();
  const subscription = log.openPartials?.({
    add: (partials) => onChange(() => texts.add(partials)),
    reset: () => onChange(texts.reset),
  });
  return (
    subscription && {
      cover: (entries) => {
        texts.cover(entries);
        subscription.onEvents();
      },
      list: texts.list,
      close: subscription.close,
    }
  );
}
