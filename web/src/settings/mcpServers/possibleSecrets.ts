// Guesses whether ordinary text contains a secret, such as a URL with a token or an argument with a key.

/** Long words of letters and digits are probably generated. */
const longWord = /[\w+=-]{16,}/g;
const secretWord = /token|key|secret|passw|auth|bearer/i;

function hasRandomText(text: string): boolean {
  return text.match(longWord)?.some((part) => /\d/.test(part) && /[a-z]/i.test(part)) ?? false;
}

function mayUrlHoldSecret(text: string): boolean {
  const { username, password, search, hash, pathname } = new URL(text);
  return (
    [username, password, search, hash].some((part) => part !== '') || pathname.split('/').some(hasRandomText)
  );
}

export function mayHoldSecret(text: string): boolean {
  if (/^https?:/i.test(text) && URL.canParse(text)) return mayUrlHoldSecret(text);
  return secretWord.test(text) || hasRandomText(text);
}
