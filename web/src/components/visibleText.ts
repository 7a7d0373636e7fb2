// Makes invisible characters in foreign text visible: those that hide, or that reverse the text around them.

/** Control characters except line breaks and tabs, direction marks, and all that browsers draw as nothing. */
const invisible = /(?!\r\n|[\n\t])[\p{Cc}\p{Cf}\p{DI}\u2028\u2029]/gu;
/** U+FE0F and U+200D are harmless between these, where they form one emoji. */
const emojiBefore = /(?:\p{ExtPict}(?:\ufe0f|\p{EMod})?|[#*\d])$/u;
const emojiAfter = /^(?:\p{ExtPict}|\u20e3)/u;
const contextChars = 4;

function isPartOfEmoji(character: string, at: number, text: string): boolean {
  if (character !== '\ufe0f' && character !== '\u200d') return false;
  const before = text.slice(Math.max(0, at - contextChars), at);
  if (!emojiBefore.test(before)) return false;
  const after = text.slice(at + 1, at + 1 + contextChars);
  return emojiAfter.test(after) || (character === '\ufe0f' && !/[#*\d]$/.test(before));
}

function codePointName(character: string): string {
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `⟨U+${code}⟩`;
}

/** Replaces each invisible character by its code point, such as ⟨U+202E⟩. */
export function visibleText(text: string): string {
  return text.replace(invisible, (character: string, at: number) =>
    isPartOfEmoji(character, at, text) ? character : codePointName(character),
  );
}

/** The same for a single line: line breaks and tabs are replaced, too. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\r\n\t]/g, codePointName);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with it
const terminalCodes = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** The same for terminal output: escape sequences are removed, and a carriage return begins a new line. */
export function visibleOutput(text: string): string {
  return visibleText(text.replace(terminalCodes, '').replace(/\r+\n?/g, '\n'));
}
