// What people are told of an error of the client.
import type { ParleyError } from '../../client/errors.ts';
import { commandName } from '../../process/program.ts';
import { serviceAddress } from '../connection.ts';
import { exitOfError } from '../exits.ts';
import { plainLine } from './plainText.ts';

const causesMax = 3;

function advice({ code }: ParleyError): string {
  const { url, isLocal, isTrusted } = serviceAddress();
  if (code === 'network')
    return isLocal
      ? ` It should be at ${url}${isTrusted ? '' : ', where it usually is'}: start it with "${commandName} serve", or say where it is with PARLEY_URL.`
      : ` It should be at ${url}: is PARLEY_URL right?`;
  if (code === 'unexpected') return ` Is there a Parley at ${url}? PARLEY_URL says where it is.`;
  if (code === 'timeout') return ` "${commandName} doctor" looks for the cause.`;
  return '';
}

/** Such as ECONNREFUSED, ENOTFOUND or what is wrong with a certificate. */
export function causeOf({ cause }: ParleyError): string {
  for (let [error, depth] = [cause, 0]; error instanceof Error && depth < causesMax; depth++) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return ` (${code})`;
    error = error.cause;
  }
  return '';
}

export function describeFault(error: ParleyError): { message: string; exitCode: number } {
  const places = error.details.slice(1).map(({ path, message }) => `\n  ${plainLine(`${path} ${message}`)}`);
  const message =
    error.code === 'unauthorized' && error.requestId !== undefined
      ? 'The service refuses the key: it is wrong, expired or revoked. Set PARLEY_KEY, or PARLEY_DATA_DIR to its data folder.'
      : `${plainLine(error.message)}${causeOf(error)}${advice(error)}${places.join('')}`;
  return { message, exitCode: exitOfError(error) };
}
