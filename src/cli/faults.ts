// What people are told of an error of the client.
import type { ParleyError } from '../client/errors.ts';
import { serviceAddress } from './connection.ts';
import { exitOfError } from './exits.ts';
import { plainLine } from './plainText.ts';

function advice({ code }: ParleyError): string {
  const { url, isLocal } = serviceAddress();
  if (code === 'network')
    return ` It should be at ${url}: ${isLocal ? 'start it with "parley serve", or say where it is with PARLEY_URL' : 'is PARLEY_URL right'}?`;
  if (code === 'unexpected') return ` Is there a Parley at ${url}? PARLEY_URL says where it is.`;
  if (code === 'timeout') return ' "parley doctor" looks for the cause.';
  return '';
}

export function describeFault(error: ParleyError): { message: string; exitCode: number } {
  const places = error.details.slice(1).map(({ path, message }) => `\n  ${path} ${message}`);
  const message =
    error.code === 'unauthorized' && error.requestId !== undefined
      ? 'The service refuses the key: it is wrong, expired or revoked. Set PARLEY_KEY, or PARLEY_DATA_DIR to its data folder.'
      : `${plainLine(error.message)}${advice(error)}${places.map(plainLine).join('\n  ')}`;
  return { message, exitCode: exitOfError(error) };
}
