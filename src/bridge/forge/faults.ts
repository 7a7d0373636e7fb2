// Errors of a git provider as sentences for an agent: what happened and what to do. Only the start of the provider's
// own message is quoted, and never a token.
import { mask } from '../../mcp/secrets.ts';
import { OutgoingError } from '../../outgoing/errors.ts';
import { objectOf } from '../../text/foreignJson.ts';

export class ForgeFault extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'ForgeFault';
  }
}

const messageCharsMax = 200;
const messageDepthMax = 3;
const messageFieldsMax = 10;

function messagesIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth === messageDepthMax || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value))
    return value
      .slice(0, messageFieldsMax)
      .map((one) => messagesIn(one, depth + 1))
      .join(', ');
  const fields = value as Record<string, unknown>;
  if (typeof fields['message'] === 'string') return fields['message'];
  const some = Object.entries(fields).slice(0, messageFieldsMax);
  return some.map(([name, inner]) => `${name} ${messagesIn(inner, depth + 1)}`).join(', ');
}

/** The start of the provider's own message, as the end of a sentence; empty if there is none. */
function ownMessage(body: unknown, token: string): string {
  const { message, errors, error } = objectOf(body);
  const parts = [message, errors, error].map((part) => messagesIn(part)).filter((text) => text !== '');
  const secrets = [token, ...token.split(':').filter((part) => part.length >= 8)];
  const text = secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), parts.join(': '));
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line === '' ? '' : ` It says: ${line.slice(0, messageCharsMax)}`;
}

interface Refused {
  readonly host: string;
  readonly token: string;
  readonly status: number;
  readonly body: unknown;
  readonly toWrite: boolean;
}

export function statusFault({ host, token, status, body, toWrite }: Refused): ForgeFault {
  const words = ownMessage(body, token);
  const may = toWrite ? 'open it' : 'read it';
  switch (status) {
    case 401:
      return new ForgeFault(
        `${host} does not take the token in the user's settings (401). It may have expired: tell the user.`,
      );
    case 403:
      return new ForgeFault(
        `${host} does not allow the token in the user's settings to ${may} (403). The user must grant it this permission, or do it themselves.${words}`,
      );
    case 404:
    case 410:
      return new ForgeFault(
        `${host} has none of it, or the token in the user's settings may not see it (${status}). Look at the number and the names; else the user has to give the token the right.`,
      );
    case 400:
    case 409:
    case 422:
      return new ForgeFault(
        toWrite
          ? `${host} does not open it (${status}). Push the branch first, and see that it has commits that the base does not have.${words}`
          : `${host} does not take the question (${status}).${words}`,
      );
    case 429:
      return new ForgeFault(`${host} has received too many requests (429). Try again later.`);
    default:
      return new ForgeFault(`${host} failed (${status}). Try again later.`);
  }
}

/** For a request without a response. */
export function connectionFault(error: unknown, host: string): ForgeFault {
  if (!(error instanceof OutgoingError)) return new ForgeFault(`The connection to ${host} failed.`);
  if (error.code === 'redirect')
    return new ForgeFault(
      `${host} returned a redirect, which is not followed. The repository may have another name now.`,
    );
  return new ForgeFault(`${host} cannot be asked. ${error.message}`);
}

export function answerFault(host: string): ForgeFault {
  return new ForgeFault(`${host} does not answer as the API of a git provider does.`);
}
