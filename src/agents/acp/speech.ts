// Joins the chunks of messages and thoughts of an agent, and shows them while they are written.
import type { RunPartials } from '../../events/partials/runPartials.ts';
import type { NewAction } from '../../events/vocabulary/vocabulary.ts';
import type { MaskedStream } from '../../text/secretValues.ts';
import { kib } from '../../validation/schema.ts';
import { textOfBlock } from './bounds.ts';

/** In UTF-16 units. Longer text becomes several messages. */
export const messageLengthMax = 64 * kib;

export interface Part {
  readonly kind: 'message' | 'think';
  readonly content: unknown;
  readonly messageId: unknown;
}

/** Where unfinished text is shown. */
export interface LiveSpeech {
  readonly texts: RunPartials;
  /** Returns an id that no other message has, in any run. */
  nextId(): string;
}

/** Links the event to the partials of the message. */
type PartialLink = { readonly partial?: { readonly of: string; readonly to: number } };

function toEvent(kind: Part['kind'], text: string, partial: PartialLink): NewAction {
  if (kind === 'think')
    return { source: 'agent', message: '', action: 'think', args: { thought: text }, ...partial };
  return {
    source: 'agent',
    message: text,
    action: 'message',
    args: { content: text, image_urls: [], file_urls: [], wait_for_response: false },
    ...partial,
  };
}

/** Returns where to split a text: after a line, so that no word is split. If it is full, after a word or anywhere. */
function splitPoint(shown: string, isFull: boolean): number {
  const text = shown.slice(0, messageLengthMax);
  const line = text.lastIndexOf('\n') + 1;
  if (line > 0 || !isFull) return line;
  const isWhole = shown.codePointAt(text.length - 1) === text.charCodeAt(text.length - 1);
  return text.lastIndexOf(' ') + 1 || text.length - (isWhole ? 0 : 1);
}

interface OpenMessage {
  readonly kind: Part['kind'];
  readonly messageId: unknown;
  readonly id: string;
  /** The position of `shown` in the message. */
  from: number;
  /** Masked text that is not in an event yet. */
  shown: string;
  readonly masked: MaskedStream;
}

const kindsOfPartials = { message: 'message', think: 'thought' } as const;

export function createSpeech(maskStream: () => MaskedStream, live?: LiveSpeech) {
  let open: OpenMessage | undefined;

  function show(message: OpenMessage, text: string): void {
    message.shown += text;
    live?.texts.append(kindsOfPartials[message.kind], message.id, text);
  }

  /** Returns the event with the first units of what was shown, if it is not blank. */
  function emit(message: OpenMessage, length: number): NewAction[] {
    const text = message.shown.slice(0, length);
    message.shown = message.shown.slice(length);
    message.from += length;
    if (text.trim() === '') return [];
    const { id: of, from: to } = message;
    return [toEvent(message.kind, text, live === undefined ? {} : { partial: { of, to } })];
  }

  /** Keeps the text after the split. */
  function flush(isFull = false): NewAction[] {
    if (open === undefined) return [];
    const events = emit(open, splitPoint(open.shown, isFull));
    live?.texts.cover(open.id, open.from);
    return events;
  }

  function end(): NewAction[] {
    if (open === undefined) return [];
    const message = open;
    open = undefined;
    show(message, message.masked.end());
    const events = emit(message, message.shown.length);
    const kind = kindsOfPartials[message.kind];
    if (events.length > 0) live?.texts.end(kind, message.id);
    else live?.texts.drop(kind, message.id);
    return events;
  }

  return {
    add: ({ kind, content, messageId }: Part): NewAction[] => {
      const text = textOfBlock(content);
      if (text === '') return [];
      const events = open?.kind === kind && open.messageId === messageId ? [] : end();
      open ??= { kind, messageId, id: live?.nextId() ?? '', from: 0, shown: '', masked: maskStream() };
      show(open, open.masked.add(text));
      while (open.shown.length >= messageLengthMax) events.push(...flush(true));
      return events;
    },
    flush: () => flush(),
    end,
  };
}
