// Splits a command line into words the way a POSIX shell quotes them; nothing is expanded.

const escapableInDoubleQuotes = new Set(['"', '\\', '$', '`', '\n']);

/** The words of the text; undefined if a quote is not closed. */
export function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote !== undefined) {
      const next = text.charAt(i + 1);
      if (char === quote) quote = undefined;
      else if (quote === '"' && char === '\\' && escapableInDoubleQuotes.has(next)) {
        word += next;
        i += 1;
      } else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === '\\') {
      if (i + 1 >= text.length) return undefined;
      word = (word ?? '') + text.charAt(i + 1);
      i += 1;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}
