// Makes untrusted text harmless in a chat room: titles and messages of agents must not notify people, create links, or
// look like something that Parley wrote.

/** Control characters and those that reverse text, except for line breaks. */
const hidden = /[[\p{Cc}--\n]\p{Bidi_Control}\p{Zl}\p{Zp}]/gv;
/** What chat services turn into mentions and links, unless a character separates it from what follows. */
const active = /@|<|:(?=\/\/)|\bwww(?=\.)|\bmailto(?=:)/gi;
/** A character without width. */
const breakCharacter = '\u200b';

function cut(text: string, charsMax: number, kept: 'start' | 'end'): string {
  if (text.length <= charsMax) return text;
  return kept === 'start' ? `${text.slice(0, charsMax - 1)}…` : `…${text.slice(1 - charsMax)}`;
}

/** Cuts the text to this many characters, and breaks up mentions and links. */
export function neutralText(text: string, charsMax: number, kept: 'start' | 'end' = 'start'): string {
  const clean = text.replaceAll('\r\n', '\n').replace(hidden, ' ').trim();
  const short = cut(clean, charsMax, kept);
  return short.toWellFormed().replace(active, (found) => found + breakCharacter);
}

/** The same, on one line. */
export function neutralLine(text: string, charsMax: number): string {
  return neutralText(text.replace(/\s+/g, ' '), charsMax);
}

/** For Markdown as Discord and Mattermost read it. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]()~|>#]/g, '\\$&');
}

/** For Slack, which reads these three characters only as entities. */
export function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
