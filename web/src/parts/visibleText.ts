// Text of others as it is: characters that hide, or that turn what stands around them, are named in their place.

/** Controls but line breaks and tabs, marks of direction, and whatever else a browser draws as nothing. */
const unseen = /(?!\r\n|[\n\t])[\p{Cc}\p{Cf}\p{DI}\u2028\u2029]/gu;
/** Those that make one picture of several, at the end of what stands before them and the start of what follows. */
const pictureBefore = /(?:\p{ExtPict}(?:\ufe0f|\p{EMod})?|[#*\d])$/u;
const pictureAfter = /^(?:\p{ExtPict}|\u20e3)/u;
/** Of what stands around one, as much as matters. */
const around = 4;

function isOfPicture(character: string, at: number, text: string): boolean {
  if (character !== '\ufe0f' && character !== '\u200d') return false;
  const before = text.slice(Math.max(0, at - around), at);
  if (!pictureBefore.test(before)) return false;
  const after = text.slice(at + 1, at + 1 + around);
  return pictureAfter.test(after) || (character === '\ufe0f' && !/[#*\d]$/.test(before));
}

function nameOf(character: string): string {
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `⟨U+${code}⟩`;
}

/** Stays the same where nothing hides in it. */
export function visibleText(text: string): string {
  return text.replace(unseen, (character: string, at: number) =>
    isOfPicture(character, at, text) ? character : nameOf(character),
  );
}

/** The same of what is one line: a break in it is named, too. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\r\n\t]/g, nameOf);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a terminal is told by
const colours = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** The same of what a program wrote for a terminal: without its colours, and with a line for each time it began one. */
export function visibleOutput(text: string): string {
  return visibleText(text.replace(colours, '').replace(/\r+\n?/g, '\n'));
}
