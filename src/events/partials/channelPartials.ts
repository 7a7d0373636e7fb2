// The unfinished texts of a log that has subscribers. How often they are sent depends on how long that takes, so that
// many subscribers do not keep the process busy.
import type { OpenText, PartialText } from '../decoder/openTexts.ts';
import type { Entry, Log } from '../receiver.ts';
import { createReaderPartials } from './readerPartials.ts';

/** After each send, there is a pause of this many times its duration. */
const pauseFactor = 4;
const pauseMaxMs = 1_000;

export interface ChannelPartials {
  /** The events are being sent to subscribers. */
  cover(entries: readonly Entry[]): void;
  list(): readonly OpenText[];
  /** Sends even if nothing is new, so that a new subscriber gets the texts so far. */
  sendSoon(): void;
  close(): void;
}

/** Joins partials that continue each other. */
export function mergePartials(partials: readonly PartialText[]): PartialText[] {
  const merged: PartialText[] = [];
  for (const partial of partials) {
    const last = merged.at(-1);
    const continues =
      last?.of === partial.of &&
      last.kind === partial.kind &&
      last.text !== '' &&
      last.from + last.text.length === partial.from;
    if (continues) merged[merged.length - 1] = { ...last, text: last.text + partial.text };
    else merged.push(partial);
  }
  return merged;
}

/**
 * Subscribes to the texts of a log. `send` must call its argument in the order of everything that is sent, send what it
 * returns, and settle when that is done. Before a new text, it must send what is in the log. Undefined if the log has no
 * such texts.
 */
export function openChannelPartials(
  log: Log,
  send: (take: () => PartialText[], isNew: boolean) => Promise<void>,
): ChannelPartials | undefined {
  const texts = createReaderPartials();
  let changes: (() => PartialText[])[] = [];
  let isSending = false;
  let isNew = false;
  let pause: NodeJS.Timeout | undefined;

  function take(): PartialText[] {
    const taken = changes;
    changes = [];
    return mergePartials(taken.flatMap((change) => change()));
  }

  async function sendChanges(): Promise<void> {
    isSending = true;
    let since = performance.now();
    const hasNew = isNew;
    isNew = false;
    await send(() => {
      since = performance.now();
      return take();
    }, hasNew);
    const pauseMs = Math.min(pauseMaxMs, pauseFactor * (performance.now() - since));
    pause = setTimeout(() => {
      isSending = false;
      if (changes.length > 0) void sendChanges();
    }, pauseMs).unref();
  }

  function add(change: () => PartialText[]): void {
    changes.push(change);
    if (!isSending) void sendChanges();
  }

  const subscription = log.openPartials?.({
    add: (partials) => {
      isNew ||= !texts.hasAll(partials);
      add(() => texts.add(partials));
    },
    reset: () => add(texts.reset),
  });
  return (
    subscription && {
      cover: (entries) => {
        texts.cover(entries);
        subscription.onEvents();
      },
      list: texts.list,
      sendSoon: () => add(() => []),
      close: () => {
        clearTimeout(pause);
        subscription.close();
      },
    }
  );
}
