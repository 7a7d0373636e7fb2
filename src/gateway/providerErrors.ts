// Turns error responses of a provider into messages for the user, with the provider's own text and a hint.
import type { IncomingMessage } from 'node:http';
import type { Upstream } from '../models/providers.ts';
import { isObject } from '../text/foreignText.ts';
import { paymentRequired } from './refusal.ts';

const errorTextCharsMax = 200;
const badGateway = 502;

/** The status to answer with, because a provider may send a number that is not a valid status. */
export const answerStatusOf = ({ statusCode = 0 }: IncomingMessage) =>
  statusCode < 300 ? badGateway : statusCode;

export const isJson = ({ headers }: IncomingMessage) => /json/i.test(headers['content-type'] ?? '');

/** A web page instead of an API response means that there is no model at this URL. */
export const isWebPage = ({ headers }: IncomingMessage) =>
  /\b(ht|x)ml\b/i.test(headers['content-type'] ?? '');

/** The host and port of a URL, without anything that may be secret. */
export function hostAndPort({ hostname, port, protocol }: URL): string {
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

/** The provider's own error message as one short line. Empty if there is none. */
export function errorTextOf(said: string): string {
  const line = textIn(said)
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  const characters = [...line];
  return characters.length > errorTextCharsMax ? `${characters.slice(0, errorTextCharsMax).join('')}…` : line;
}

/** Whether the status suggests a wrong path or a server that is not a model API. */
export function suggestsWrongUrl(status: number): boolean {
  return status < 400 || status === 404 || status === 405;
}

/** A hint to check the base URL, if the user has set one. */
export function baseUrlHint({ custom }: Upstream): string {
  return custom ? ' Check llm_base_url in your settings: it should look like https://host/v1.' : '';
}

/** Errors that no agent can fix. For others, agents quote the provider themselves. */
const sentences: Readonly<Record<number, string>> = {
  401: 'The model provider rejected your API key',
  [paymentRequired]: 'The model provider requires payment',
  403: 'The model provider rejected your API key, or the model for it',
};

export const needsUser = (status: number) => sentences[status] !== undefined;

export function refusalSentence(status: number, said: string, upstream: Upstream): string {
  const sentence = sentences[status];
  const words = errorTextOf(said);
  if (sentence !== undefined) return `${sentence} (${status})${words === '' ? '.' : `: ${words}`}`;
  const hint = suggestsWrongUrl(status) ? baseUrlHint(upstream) : '';
  return `The model provider rejected a request (${status}).${hint}`;
}
