// Writes the words of a page in lines: white space becomes one space, breaks become at most one empty line, and marks,
// such as the brackets of a link, are written only around words.

export interface TextWriter {
  /** Adds text of HTML, in which white space means little. */
  text(text: string): void;
  /** Requires at least this many line ends before the next word. */
  breakLines(count: 1 | 2): void;
  lineBreak(): void;
  /** Adds a mark before the next word. */
  startWith(prefix: string): void;
  indent(by: 1 | -1): void;
  startRow(): void;
  startCell(): void;
  openInline(name: string, before: string, after: string): void;
  closeInline(name: string): void;
  openCode(): void;
  closeCode(): void;
  isFull(): boolean;
  /** Returns the whole text. */
  end(): string;
}

interface Inline {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  isWritten: boolean;
}

const indentMax = 5;
const inlineMax = 8;
/** Soft hyphens and zero-width spaces only mark where a line may break. */
const invisible = /[\u00AD\u200B]/g;
const fence = '```';

export function createTextWriter(charsMax: number): TextWriter {
  let out = '';
  let breaks = 0;
  let space = false;
  let prefix = '';
  let depth = 0;
  let cells = 0;
  /** The text of the open code block; undefined if there is none. */
  let code: string | undefined;
  const inline: Inline[] = [];

  function word(text: string): void {
    if (out !== '') out += breaks > 0 ? '\n'.repeat(breaks) : space ? ' ' : '';
    out += prefix;
    breaks = 0;
    space = false;
    prefix = '';
    for (const mark of inline) {
      if (!mark.isWritten) out += mark.before;
      mark.isWritten = true;
    }
    out += text;
  }

  function breakLines(count: 1 | 2): void {
    if (code !== undefined) return;
    breaks = Math.max(breaks, count);
    space = false;
  }

  function text(raw: string): void {
    const given = raw.replace(invisible, '').replaceAll('\u00A0', ' ');
    if (code !== undefined) {
      if (code.length < charsMax) code += given;
      return;
    }
    const words = given.replace(/\s+/g, ' ');
    const trimmed = words.trim();
    if (words.startsWith(' ')) space = true;
    if (trimmed === '') return;
    word(trimmed);
    space = words.endsWith(' ');
  }

  function closeInline(name: string): void {
    const at = inline.findLastIndex((mark) => mark.name === name);
    if (at === -1) return;
    for (const mark of inline.splice(at).toReversed()) if (mark.isWritten) out += mark.after;
  }

  function closeCode(): void {
    const block = code?.replace(/^\n/, '').trimEnd() ?? '';
    code = undefined;
    if (block !== '') word(`${fence}\n${block}\n${fence}`);
    breakLines(2);
  }

  return {
    text,
    breakLines,
    lineBreak: () => (code === undefined ? breakLines(1) : text('\n')),
    startWith: (given) => {
      prefix = given === '- ' ? `${'  '.repeat(Math.max(0, depth - 1))}- ` : given;
    },
    indent: (by) => {
      depth = Math.min(indentMax, Math.max(0, depth + by));
    },
    startRow: () => {
      cells = 0;
    },
    startCell: () => {
      if (cells > 0) text(' | ');
      cells += 1;
    },
    openInline: (name, before, after) => {
      if (code === undefined && inline.length < inlineMax)
        inline.push({ name, before, after, isWritten: false });
    },
    closeInline,
    openCode: () => {
      if (code !== undefined) return;
      breakLines(2);
      code = '';
    },
    closeCode,
    isFull: () => out.length > charsMax,
    end: () => {
      closeCode();
      for (const { name } of [...inline]) closeInline(name);
      return out;
    },
  };
}
