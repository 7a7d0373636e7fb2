// Converts errors of the API to errors of JSON-RPC, whose messages people read in their editor.
import { RequestError } from '@agentclientprotocol/sdk';
import { ParleyError } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';

const authRequired = -32_000;
const notFound = -32_002;
const invalidRequest = -32_600;
const invalidParams = -32_602;
const internalError = -32_603;

function codeOf({ status, code }: ParleyError): number {
  if (status === 401 || code === 'unauthorized') return authRequired;
  if (status === 404) return notFound;
  if (status === 403) return invalidRequest;
  return code === 'invalid' || status === 413 || status === 422 ? invalidParams : internalError;
}

function sentence({ message, details }: ParleyError): string {
  const fields = details.map(({ path, message: what }) => `${path} ${what}`);
  // With one invalid field, the message already names it.
  if (fields.length === 1 && message.startsWith(fields[0] ?? '')) return message;
  return [message, ...fields].join(' ');
}

export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof ParleyError)
    return new RequestError(codeOf(error), sentence(error), { code: error.code });
  if (error instanceof RefusalError) return new RequestError(internalError, error.message);
  return new RequestError(internalError, 'An internal error occurred.');
}

/** Runs a handler, and converts the errors that it throws. */
export async function withRequestErrors<Out>(handle: () => Promise<Out>): Promise<Out> {
  try {
    return await handle();
  } catch (error) {
    throw toRequestError(error);
  }
}
