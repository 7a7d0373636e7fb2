// An HTML template that always escapes: values in `html` are text unless they are Html.

export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

export type Part = Html | string | number | undefined | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function toMarkup(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(toMarkup).join('');
  return String(part).replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: literals }, ...parts.map(toMarkup)));
}

export function isEmpty(part: Part): boolean {
  return toMarkup(part).trim() === '';
}

/** Puts the separator between non-empty parts. */
export function join(parts: readonly Part[], separator: Part): Part[] {
  return parts
    .filter((part) => !isEmpty(part))
    .flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
}

/** One line of text, in which `backticks` mark code. */
export function prose(text: string): Html {
  const pieces = text.split(/`([^`]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
}

/** Text as paragraphs, separated by blank lines; empty for no text. */
export function paragraphs(text: string): Html {
  const found = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');
  return html`${found.map((paragraph) => html`<p>${prose(paragraph)}</p>`)}`;
}

/** Content below a line that expands and collapses it. */
export function folded(summary: Part, content: Part, open = false): Html {
  return html`<details${open ? ' open' : ''}><summary>${summary}</summary>${content}</details>`;
}
