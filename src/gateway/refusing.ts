// What the user is told of a provider that refuses: its own words, in short, and what to look at.
import type { IncomingMessage } from 'node:http';
import type { Upstream } from '../models/providers.ts';
import { isObject } from './protocols/protocol.ts';
import { paymentRequired } from './refusal.ts';

const wordsMax = 200;
const badGateway = 502;

/** What to answer with: a provider may send a number that is no status. */
export const statusOf = ({ statusCode = 0 }: IncomingMessage) => (statusCode < 300 ? badGateway : statusCode);

export const isJson = ({ headers }: IncomingMessage) => /json/i.test(headers['content-type'] ?? '');

/** A page for people: it comes from where no model is. */
export const isPage = ({ headers }: IncomingMessage) => /\b(ht|x)ml\b/i.test(headers['content-type'] ?? '');

/** The host and port of a URL, and nothing that may be secret. */
export function placeOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

function messageIn(value: unknown): unknown {
  const part: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(part)) return part;
  return isObject(part['error'])
    ? part['error']['message']
    : (part['error'] ?? part['message'] ?? part['detail']);
}

function textIn(said: string): string {
  try {
    const message = messageIn(JSON.parse(said));
    return typeof message === 'string' ? message : '';
  } catch {
    return /^\s*</.test(said) ? '' : said;
  }
}

/** What a provider says of an error: one line of it, and not too long. Empty where it has no words. */
export function wordsOf(said: string): string {
  const line = textIn(said)
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  const characters = [...line];
  return characters.length > wordsMax ? `${characters.slice(0, wordsMax).join('')}…` : line;
}

/** For a status that comes where no model is: a wrong path, or another server. */
export function isElsewhere(status: number): boolean {
  return status < 400 || status === 404 || status === 405;
}

/** To look at the address, where it is the user's own. */
export function addressHint({ custom }: Upstream): string {
  return custom ? ' Look at llm_base_url in your settings: it should be such as https://host/v1.' : '';
}

/** What no agent can mend; others quote the words of the provider themselves. */
const sentences: Readonly<Record<number, string>> = {
  401: 'The provider of the model refuses the key in your settings',
  [paymentRequired]: 'The provider of the model wants to be paid',
  403: 'The provider of the model refuses the key in your settings, or the model for it',
};

export const isForUser = (status: number) => sentences[status] !== undefined;

export function refusalSentence(status: number, said: string, upstream: Upstream): string {
  const sentence = sentences[status];
  const words = wordsOf(said);
  if (sentence !== undefined) return `${sentence} (${status})${words === '' ? '.' : `: ${words}`}`;
  const hint = isElsewhere(status) ? addressHint(upstream) : '';
  return `The provider of the model refuses a request (${status}).${hint}`;
}
