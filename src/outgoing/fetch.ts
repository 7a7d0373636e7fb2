// All outgoing requests use this: it reaches only addresses that were checked, follows no redirects, sends only what
// the caller gave, and ends within its limits.
import type { LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { kib } from '../validation/schema.ts';
import { OutgoingError, timedOut, toOutgoingError } from './errors.ts';
import type { AllowPrivate } from './privateHosts.ts';
import { bareHost, checkLiteral, createCheckedLookup, type Lookup, lookUp, portOf } from './resolve.ts';

export interface OutgoingOptions {
  /** Evaluated for each request. Its errors reach the caller unchanged. */
  readonly allowPrivate: AllowPrivate;
  readonly lookup?: Lookup;
  /** From the lookup to the last byte. */
  readonly timeoutMs: number;
  /** The size of the body after decompression. */
  readonly responseBytesMax: number;
}

/** The options that callers may set; all others are set here. */
export type OutgoingInit = Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'>;

/** Like `fetch`. Throws OutgoingError, or the reason of the caller's own signal. */
export type OutgoingFetch = (url: string | URL, init?: OutgoingInit) => Promise<Response>;

function parseTarget(url: string | URL): URL {
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol))
    throw new OutgoingError('address_not_allowed', 'Its URL is not an http or https URL.');
  if (target.username !== '' || target.password !== '')
    throw new OutgoingError('address_not_allowed', 'Its URL contains a user name or password.');
  return target;
}

/**
 * Each request has its own agent without keep-alive, so that no connection outlives the rule that it was checked by.
 */
function agentOptions(lookup: LookupFunction, timeoutMs: number): Agent.Options {
  return {
    allowH2: false,
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { lookup, timeout: timeoutMs },
  };
}

interface Exchange {
  readonly bytesMax: number;
  readonly finish: () => void;
  readonly translate: (error: unknown) => unknown;
}

/** The body, which fails beyond its limit. However it ends, the exchange is closed then. */
function boundBody(body: ReadableStream<Uint8Array>, exchange: Exchange): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          bytes += value?.byteLength ?? 0;
          if (bytes > exchange.bytesMax)
            throw new OutgoingError(
              'too_large',
              `Its response is larger than ${exchange.bytesMax / kib} KiB.`,
            );
          if (!done) return controller.enqueue(value);
          exchange.finish();
          controller.close();
        } catch (error) {
          exchange.finish();
          controller.error(exchange.translate(error));
        }
      },
      async cancel(reason) {
        await reader.cancel(reason).catch(() => {});
        exchange.finish();
      },
    },
    { highWaterMark: 0 },
  );
}

export function createOutgoingFetch(options: OutgoingOptions): OutgoingFetch {
  const { allowPrivate, timeoutMs, responseBytesMax, lookup = lookUp } = options;

  return async (url, { method, headers, body, signal: callerSignal } = {}) => {
    const target = parseTarget(url);
    const rule = { private: await allowPrivate(), port: portOf(target) };
    checkLiteral(bareHost(target.hostname), rule);

    // Loaded on first use, because the service does not need it to start.
    const { Agent, fetch } = await import('undici');
    const agent = new Agent(agentOptions(createCheckedLookup(lookup, rule), timeoutMs));
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(timedOut(timeoutMs)), timeoutMs);
    const finish = () => {
      clearTimeout(timer);
      void agent.destroy();
    };
    const translate = (error: unknown) =>
      callerSignal?.aborted ? callerSignal.reason : toOutgoingError(error, timeoutMs);

    try {
      const response = await fetch(target, {
        ...(method === undefined ? {} : { method }),
        ...(headers === undefined ? {} : { headers: [...new Headers(headers)] }),
        ...(body == null ? {} : { body: body as string, duplex: 'half' }),
        redirect: 'manual',
        credentials: 'omit',
        signal: callerSignal == null ? deadline.signal : AbortSignal.any([callerSignal, deadline.signal]),
        dispatcher: agent,
      });
      const { status, statusText } = response;
      // 304 is the expected answer to a conditional request, and no redirect.
      const isUnmodified = status === 304 && new Headers(headers).has('if-none-match');
      if (status >= 300 && status < 400 && !isUnmodified)
        throw new OutgoingError('redirect', 'It returned a redirect, which is not followed.');
      if (response.body === null) finish();
      const exchange = { bytesMax: responseBytesMax, finish, translate };
      const bounded = response.body && boundBody(response.body, exchange);
      return new Response(bounded, { status, statusText, headers: [...response.headers] });
    } catch (error) {
      finish();
      throw translate(error);
    }
  };
}
