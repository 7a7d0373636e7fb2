// A client for the API of a git provider, with the user's access token, outside of the sandbox.

import { createForgeExchange, type ForgeExchangeOptions, parseJson } from '../../forge/exchange.ts';
import type { GitRemote } from '../../git/remote.ts';
import { mib } from '../../validation/schema.ts';
import { answerFault, connectionFault, statusFault } from './faults.ts';

export interface ForgeRequest {
  readonly query?: Readonly<Record<string, string>>;
  /** The object to create. Without it, the request only reads. */
  readonly json?: object;
}

/** `path` starts with a slash, below the API's base URL. Throws ForgeFault. */
export type SendToForge = (path: string, question?: ForgeRequest) => Promise<unknown>;

const exchangeMs = 30_000;
const answerBytesMax = 8 * mib;

export interface ForgeClientOptions extends Pick<ForgeExchangeOptions, 'token' | 'allowPrivate' | 'lookup'> {
  readonly remote: GitRemote;
  readonly api: string;
}

/** Creates the client for one tool call, which the signal aborts. */
export function createForgeClient(options: ForgeClientOptions): (signal: AbortSignal) => SendToForge {
  const { remote, api, token } = options;
  const { host } = new URL(api);
  const send = createForgeExchange({
    ...options,
    host: remote,
    timeoutMs: exchangeMs,
    responseBytesMax: answerBytesMax,
  });

  return (signal) =>
    async (path, { query, json } = {}) => {
      const { status, text } = await send(`${api}${path}`, { query, json, signal }).catch(
        (error: unknown) => {
          throw connectionFault(error, host);
        },
      );
      const body = parseJson(text);
      if (status < 200 || status > 299)
        throw statusFault({ host, token, status, body, toWrite: json !== undefined });
      if (typeof body !== 'object' || body === null) throw answerFault(host);
      return body;
    };
}
