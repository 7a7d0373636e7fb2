// Checks whether a request contains the token of its run, in any of the forms in which programs send API keys.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

const digest = (text: string) => createHash('sha256').update(text).digest();

function passwordOf(basic: string): string {
  const text = Buffer.from(basic, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

function presentedToken(headers: IncomingHttpHeaders): string[] {
  const keys = [headers['x-api-key'], headers['x-goog-api-key']].filter((value) => typeof value === 'string');
  for (const value of [headers.authorization, headers['proxy-authorization']]) {
    const [, scheme = '', credential = ''] = /^(\w+) +(.+)$/.exec(value ?? '') ?? [];
    if (scheme.toLowerCase() === 'bearer') keys.push(credential);
    if (scheme.toLowerCase() === 'basic') keys.push(passwordOf(credential));
  }
  return keys;
}

export function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const expected = digest(token);
  return presentedToken(headers).some((key) => timingSafeEqual(digest(key), expected));
}
