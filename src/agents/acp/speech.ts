// Joins the chunks of messages and thoughts of an agent.
import type { NewAction } from '../../events/vocabulary/vocabulary.ts';
import { kib } from '../../validation/schema.ts';
import { type Mask, textOfBlock } from './bounds.ts';

/** In UTF-16 units. Longer text becomes several messages. */
export const messageLengthMax = 64 * kib;

export interface Part {
  readonly kind: 'message' | 'think';
  readonly content: unknown;
  readonly messageId: unknown;
}

function toEvent(kind: Part['kind'], text: string): NewAction {
  if (kind === 'think') return { source: 'agent', message: '', action: 'think', args: { thought: text } };
  return {
    source: 'agent',
    message: text,
    action: 'message',
    args: { content: text, image_urls: [], file_urls: [], wait_for_response: false },
  };
}

/** Returns where to split a text: after a line, so that no word or secret is split, or else after a word. */
function splitPoint(text: string, orAfterWord: boolean): number {
  const line = text.lastIndexOf('\n') + 1;
  return line === 0 && orAfterWord ? text.lastIndexOf(' ') + 1 || text.length : line;
}

export function createSpeech(mask: Mask) {
  let open: { kind: Part['kind']; messageId: unknown; pieces: string[]; length: number } | undefined;

  function emit(kind: Part['kind'], text: string): NewAction[] {
    const shown = mask(text).toWellFormed();
    return shown.trim() === '' ? [] : [toEvent(kind, shown)];
  }

  /** Keeps the text after the split. */
  function flush(full = false): NewAction[] {
    if (open === undefined) return [];
    const text = open.pieces.join('');
    const at = splitPoint(text, full);
    open.pieces = [text.slice(at)];
    open.length = text.length - at;
    return emit(open.kind, text.slice(0, at));
  }

  function end(): NewAction[] {
    if (open === undefined) return [];
    const { kind, pieces } = open;
    open = undefined;
    return emit(kind, pieces.join(''));
  }

  return {
    add: ({ kind, content, messageId }: Part): NewAction[] => {
      const text = textOfBlock(content);
      if (text === '') return [];
      const others = open?.kind === kind && open.messageId === messageId ? [] : end();
      open ??= { kind, messageId, pieces: [], length: 0 };
      const events = [...others];
      for (let from = 0; from < text.length; ) {
        const piece = text.slice(from, from + messageLengthMax - open.length);
        open.pieces.push(piece);
        open.length += piece.length;
        from += piece.length;
        if (open.length === messageLengthMax) events.push(...flush(true));
      }
      return events;
    },
    flush: () => flush(),
    end,
  };
}
