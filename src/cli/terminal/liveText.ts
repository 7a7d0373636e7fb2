// Prints what an agent is writing. Whole lines of a message are printed for good. The last line, thoughts and output are
// shown in one line that is overwritten, and printed when their event comes.
import { createOpenTexts, type OpenText, type ParleyEvent, type PartialEvent } from '../../client/parley.ts';
import { plainLine, plainText, withoutColours } from '../../text/plainText.ts';
import type { Output } from './output.ts';
import { textWidth } from './table.ts';
import { agentPrefix } from './timeline.ts';

/** Only so much of a line can be in sight. */
const lineCharsMax = 1_000;

/** The last line that is not blank. */
function lastLine(text: string): string {
  const end = withoutColours(text.trimEnd().slice(-lineCharsMax));
  return plainLine(end.slice(end.lastIndexOf('\n') + 1));
}

/** The end of the line, as far as it fits. */
function fitEnd(line: string, widthMax: number): string {
  let shown = line;
  while (textWidth(shown) > widthMax) shown = [...shown].slice(1).join('');
  return shown;
}

/** Whole lines, without blank ones at the start and the end, as the event will show them. */
function wholeLines(text: string): string {
  const shown = plainText(text).trimStart();
  const lines = shown.slice(0, shown.lastIndexOf('\n') + 1).trimEnd();
  return lines === '' ? '' : `${lines}\n`;
}

export interface LiveText {
  add(partial: PartialEvent): void;
  /** Returns what is left to print of an event, of which `text` is the whole. */
  restOf(event: ParleyEvent, text: string): string;
  /** Must be called before anything else is printed. */
  clear(): void;
  /** Must be called after that. */
  show(): void;
}

export function createLiveText({ text: print, style, isLive, columns }: Output): LiveText {
  const texts = createOpenTexts();
  const prefix = agentPrefix(style);
  /** The lines of a message that were printed. */
  let printed: { readonly of: string; readonly lines: string } | undefined;
  let isShown = false;

  function clear(): void {
    if (isShown) print('\r\u001b[K');
    isShown = false;
  }

  function printLines({ of, text }: OpenText): void {
    const before = printed?.of === of ? printed.lines : '';
    const lines = wholeLines(text);
    if (lines.length <= before.length || !lines.startsWith(before)) return;
    clear();
    print((before === '' ? prefix : '') + lines.slice(before.length));
    printed = { of, lines };
  }

  function show(): void {
    const open = texts.list();
    if (!open.some(({ of }) => of === printed?.of)) printed = undefined;
    const last = open.findLast(({ text }) => text.trim() !== '');
    if (last?.kind === 'message') printLines(last);
    clear();
    if (last === undefined || !isLive) return;
    // A whole line of a message was printed.
    const isPrinted = last.kind === 'message' && /\n\s*$/.test(last.text);
    const line = isPrinted ? '' : fitEnd(lastLine(last.text), columns - 1);
    if (line === '') return;
    print(`\r\u001b[K${style('dim', line)}`);
    isShown = true;
  }

  return {
    clear,
    show,
    add: (partial) => {
      texts.add(partial);
      show();
    },
    restOf: (event, text) => {
      texts.cover(event);
      if (event.type !== 'action.message' || event.partial === undefined) return text;
      const before = printed?.of === event.partial.of ? printed.lines : '';
      if (before === '' || !text.startsWith(prefix + before)) return text;
      printed = undefined;
      return text.slice(prefix.length + before.length);
    },
  };
}
