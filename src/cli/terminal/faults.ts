// Error messages of the client, with advice, for people.
import type { ParleyError } from '../../client/errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine } from '../../text/plainText.ts';
import { serviceAddress } from '../connection/connection.ts';
import { exitOfError } from '../exits.ts';

const causesMax = 3;

function advice({ code }: ParleyError): string {
  const { url, isLocal, isTrusted, context } = serviceAddress();
  if (code === 'network')
    return isLocal
      ? ` It should be at ${url}${isTrusted ? '' : ', the default URL'}: start it with "${commandName} serve", or set PARLEY_URL.`
      : ` It should be at ${url}: check ${context === undefined ? 'PARLEY_URL' : `the context "${context.name}"`}.`;
  if (code === 'unexpected') return ` Is there a Parley service at ${url}?`;
  if (code === 'timeout') return ` "${commandName} doctor" can find the cause.`;
  return '';
}

function keyAdvice(): string {
  const { context } = serviceAddress();
  return context === undefined
    ? 'Set PARLEY_KEY, set PARLEY_DATA_DIR to the data folder of the service, or log in.'
    : `Log in again: ${commandName} login --name ${context.name} ${context.url}`;
}

/** The system's error code, such as ECONNREFUSED, ENOTFOUND or that of a bad certificate. */
export function causeOf({ cause }: ParleyError): string {
  for (let [error, depth] = [cause, 0]; error instanceof Error && depth < causesMax; depth++) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return ` (${code})`;
    error = error.cause;
  }
  return '';
}

export function describeFault(error: ParleyError): { message: string; exitCode: number } {
  const faults = error.details.slice(1).map(({ path, message }) => `\n  ${plainLine(`${path} ${message}`)}`);
  const message =
    error.code === 'unauthorized' && error.requestId !== undefined
      ? `The service refuses the API key: it is wrong, expired or revoked. ${keyAdvice()}`
      : `${plainLine(error.message)}${causeOf(error)}${advice(error)}${faults.join('')}`;
  return { message, exitCode: exitOfError(error) };
}
