// Whether a text that is no field for a secret may hold one all the same: an address with a token, an argument with a key.

/** Long, and of letters and digits both: what programs make, and people do not. */
const made = /[\w+=-]{16,}/g;
const named = /token|key|secret|passw|auth|bearer/i;

function isPart(text: string): boolean {
  return text.match(made)?.some((part) => /\d/.test(part) && /[a-z]/i.test(part)) ?? false;
}

function isAddressWithSecret(text: string): boolean {
  const { username, password, search, hash, pathname } = new URL(text);
  return [username, password, search, hash].some((part) => part !== '') || pathname.split('/').some(isPart);
}

/** In doubt it may. */
export function mayHoldSecret(text: string): boolean {
  if (/^https?:/i.test(text) && URL.canParse(text)) return isAddressWithSecret(text);
  return named.test(text) || isPart(text);
}
