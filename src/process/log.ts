// Structured logs on standard error. Known credentials are removed from every line before it is written, wherever they
// came from.
import pino, { type Logger } from 'pino';
import { textOf } from '../text/foreignText.ts';

const struckOut = '[secret]';
const credentialText = /p[kts]_[0-9a-f]{16}_[A-Za-z0-9_-]{43}|whsec_[A-Za-z0-9+/]{43}=/g;
const urlPassword = /(\w+:\/\/[^\s:/@"]*):[^\s@"]+@/g;
const causesMax = 3;

interface LogConfig {
  readonly logLevel: string;
  readonly sessionApiKey: string | undefined;
  readonly authToken: string | undefined;
  readonly secretKeys: readonly Buffer[];
  readonly oidcClientSecret?: string | undefined;
}

/** The useful parts of an error. Databases put values into other fields, which are left out. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: textOf(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined || depth >= causesMax ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

/** A function that removes every known credential from a line. */
export function createScrubber(config: Omit<LogConfig, 'logLevel'>): (line: string) => string {
  const known = [
    config.sessionApiKey,
    config.authToken,
    config.oidcClientSecret,
    ...config.secretKeys.flatMap((key) => [key.toString('hex'), key.toString('base64')]),
  ]
    .filter((secret) => secret !== undefined)
    // As it appears in a line of JSON.
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  return (line) => {
    let clean = line.replace(credentialText, struckOut).replace(urlPassword, `$1:${struckOut}@`);
    for (const secret of known) clean = clean.replaceAll(secret, struckOut);
    return clean;
  };
}

export function createLogger(config: LogConfig, fd = 2): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { streamWrite: createScrubber(config) },
    },
    pino.destination({ fd, sync: true }),
  );
}
