// The texts that a run is writing: what its agent says and what its commands print, before it is in the log. They are
// kept in memory only, bounded, and sent to subscribers about 20 times a second.

import { type Clock, systemClock, type Timer } from '../../process/clock.ts';
import { kib } from '../../validation/schema.ts';
import { type PartialKind, type PartialText, partialKey } from '../decoder/openTexts.ts';

/** New text waits for this time, to be sent together with what follows. */
const gatherMs = 50;
/** If a run writes more than this, its texts are sent less often. */
const charsPerMsMax = 512;
/** How much of the end of an output is kept. It may grow to twice as much, so that not every piece is copied. */
const outputCharsMax = 16 * kib;
/** Outputs of further calls are not shown before the call ends. */
const outputsMax = 16;

interface RunText {
  readonly of: string;
  readonly kind: PartialKind;
  /** The position of `text` in the whole text. */
  from: number;
  text: string;
  /** Subscribers have the text up to this position. */
  sentTo: number;
  /** What subscribers have is no longer a part of the text. */
  isReplaced: boolean;
  /** Earlier actions of the run are not in the log yet. */
  isEarly: boolean;
  /** Returns the whole text as it is now. It is called only when the text is sent, because it takes time. */
  read?: (() => string) | undefined;
}

export type TextListener = (partials: readonly PartialText[]) => void;

/** What a run does with its texts. All of it is masked. */
export interface RunPartials {
  append(kind: PartialKind, of: string, text: string): void;
  /** The output is all of what `read` returns. Agents that do not send what was added send everything again. */
  replaceOutput(of: string, read: () => string): void;
  /** An event with the text of a message up to here will follow, so it is no longer sent. */
  cover(of: string, to: number): void;
  /** An event with the rest of the text will follow. */
  end(kind: PartialKind, of: string): void;
  /** No event will follow, or it is left out. */
  drop(kind: PartialKind, of: string): void;
}

export interface SubscribablePartials extends RunPartials {
  /** Sends what there is now, then what is added. Returns the function that unsubscribes. */
  subscribe(listener: TextListener): () => void;
}

const dropped = ({ of, kind }: Pick<RunText, 'of' | 'kind'>): PartialText => ({
  of,
  kind,
  from: 0,
  text: '',
});

function endOf({ from, text }: RunText): number {
  return from + text.length;
}

/** Keeps the end of an output that has become too long. */
function bound(open: RunText): void {
  const over = open.text.length - outputCharsMax;
  if (open.kind !== 'output' || over < outputCharsMax) return;
  open.from += over;
  open.text = open.text.slice(over);
}

function readAgain(open: RunText): void {
  if (open.read === undefined) return;
  const whole = open.read();
  open.read = undefined;
  const isLonger = whole.length >= endOf(open) && whole.startsWith(open.text, open.from);
  if (!isLonger) [open.isReplaced, open.from] = [true, 0];
  open.text = whole.slice(open.from);
  bound(open);
}

/** What subscribers lack of the text. */
function newPartials(open: RunText): PartialText[] {
  readAgain(open);
  const { of, kind } = open;
  const from = open.isReplaced ? open.from : Math.max(open.from, open.sentTo);
  const partial = { of, kind, from, text: open.text.slice(from - open.from) };
  const partials = [...(open.isReplaced ? [dropped(open)] : []), ...(partial.text === '' ? [] : [partial])];
  [open.isReplaced, open.sentTo] = [false, endOf(open)];
  return partials;
}

interface RunPartialsOptions {
  readonly clock?: Clock;
  /** Records what the run has done so far. Undefined if all of it is in the log. */
  readonly recordPending?: () => Promise<void> | undefined;
}

export function createRunPartials({
  clock = systemClock,
  recordPending = () => undefined,
}: RunPartialsOptions = {}): SubscribablePartials {
  const texts = new Map<string, RunText>();
  const changed = new Set<RunText>();
  const listeners = new Set<TextListener>();
  let timer: Timer | undefined;
  let sendAt = 0;

  function send(partials: readonly PartialText[]): void {
    if (partials.length === 0) return;
    for (const listener of listeners) listener(partials);
  }

  function sendChanged(): void {
    timer?.stop();
    timer = undefined;
    const sent = [...changed].filter(({ isEarly }) => !isEarly);
    const partials = sent.flatMap(newPartials);
    for (const open of sent) changed.delete(open);
    const chars = partials.reduce((sum, { text }) => sum + text.length, 0);
    sendAt = clock.steady() + Math.max(gatherMs, chars / charsPerMsMax);
    send(partials);
  }

  function markChanged(open: RunText): void {
    changed.add(open);
    if (listeners.size === 0 || open.isEarly) return;
    // The first text after a pause is sent at once.
    const waitMs = sendAt - clock.steady();
    if (waitMs <= 0 && timer === undefined) sendChanged();
    else timer ??= clock.after(waitMs, sendChanged);
  }

  /** Subscribers get text only when the calls before it are in the log. */
  function waitForLog(open: RunText): void {
    const recorded = recordPending();
    if (recorded === undefined) return;
    open.isEarly = true;
    const send = () => {
      open.isEarly = false;
      if (changed.has(open)) markChanged(open);
    };
    recorded.then(send, send);
  }

  function find(kind: PartialKind, of: string): RunText | undefined {
    const key = partialKey({ of, kind });
    const known = texts.get(key);
    if (known !== undefined) return known;
    const outputs = [...texts.values()].filter((open) => open.kind === 'output').length;
    if (kind === 'output' && outputs >= outputsMax) return undefined;
    const open: RunText = { of, kind, from: 0, text: '', sentTo: 0, isReplaced: false, isEarly: false };
    texts.set(key, open);
    if (kind !== 'output') waitForLog(open);
    return open;
  }

  function forget(open: RunText): void {
    texts.delete(partialKey(open));
    changed.delete(open);
  }

  return {
    append: (kind, of, text) => {
      const open = text === '' ? undefined : find(kind, of);
      if (open === undefined) return;
      open.text += text;
      bound(open);
      markChanged(open);
    },
    replaceOutput: (of, read) => {
      const open = find('output', of);
      if (open === undefined) return;
      open.read = read;
      markChanged(open);
    },
    cover: (of, to) => {
      const open = texts.get(partialKey({ of, kind: 'message' }));
      if (open === undefined) return;
      open.text = open.text.slice(Math.max(0, to - open.from));
      open.from = Math.max(open.from, to);
      open.sentTo = Math.max(open.sentTo, to);
      if (open.text === '') changed.delete(open);
    },
    end: (kind, of) => {
      const open = texts.get(partialKey({ of, kind }));
      if (open !== undefined) forget(open);
    },
    drop: (kind, of) => {
      const open = texts.get(partialKey({ of, kind }));
      if (open !== undefined) forget(open);
      send([dropped({ of, kind })]);
    },
    subscribe: (listener) => {
      // Earlier subscribers then have the same text as the new one, so that all get the same partials from now on.
      sendChanged();
      const known = [...texts.values()].filter(({ text, isEarly }) => text !== '' && !isEarly);
      listener(known.map(({ of, kind, from, text }) => ({ of, kind, from, text })));
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
