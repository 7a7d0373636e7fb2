// Forwards an answer of a provider to the agent, piece by piece.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { kib } from '../validation/schema.ts';
import type { GatewayBounds } from './bounds.ts';
import { createLineTracker } from './lineTracker.ts';
import { cpuMs, type ReadRateLimit } from './readRateLimit.ts';
import type { Redaction } from './redaction.ts';
import { createResponseTimeouts, type TimeoutReason } from './responseTimeouts.ts';
import type { GatewayTimes } from './times.ts';

const errorBytesMax = 64 * kib;
const answerHeaders = ['content-type', 'request-id', 'x-request-id'] as const;

/** `too_dear`: for the conversation. `over_budget`: for the user. */
export type CostOverrun = 'too_dear' | 'over_budget';

/** How the answer ended: complete, cut off by the provider or because of a limit, or abandoned by the agent. */
export type ForwardOutcome = 'whole' | 'broken' | 'gone' | 'too_large' | CostOverrun | TimeoutReason;

interface ForwardOptions {
  readonly answer: IncomingMessage;
  readonly response: ServerResponse;
  readonly isStream: boolean;
  /** Returns why the answer must be cut off, if it must. Nothing more is read before a promise settles. */
  readonly count: (piece: Buffer) => CostOverrun | undefined | Promise<CostOverrun | undefined>;
  readonly redaction: Redaction;
  readonly readRate: ReadRateLimit;
  readonly times: GatewayTimes;
  readonly bounds: GatewayBounds;
}

function sendHead({ answer, response, redaction }: ForwardOptions): void {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  for (const name of answerHeaders) {
    const value = answer.headers[name];
    if (typeof value === 'string' && redaction.text(value) === value) headers[name] = value;
  }
  response.writeHead(answer.statusCode ?? 200, headers);
  response.flushHeaders();
}

/** Checks each piece for data, and the total against the limits. */
function createSizeCheck({ isStream, bounds }: ForwardOptions) {
  const lines = createLineTracker();
  let bytes = 0;
  return {
    hasData: (piece: Buffer) => {
      bytes += piece.length;
      return !isStream || lines.push(piece);
    },
    areTooLarge: () => bytes > bounds.answerBytesMax || (isStream && lines.bytes() > bounds.lineBytesMax),
  };
}

/** Sends each piece, then meters it. If the answer is not complete, the agent's connection is closed as well. */
export function forwardAnswer(options: ForwardOptions): Promise<ForwardOutcome> {
  const { answer, response, count, redaction, readRate, times } = options;
  const redacted = redaction.stream();
  const sizes = createSizeCheck(options);
  sendHead(options);
  return new Promise((resolve) => {
    let why: ForwardOutcome | undefined;
    function cut(reason: ForwardOutcome): void {
      why ??= reason;
      answer.destroy();
    }
    const timeouts = createResponseTimeouts(times, cut);

    function resume(): void {
      if (answer.destroyed) return;
      timeouts.resume();
      answer.resume();
    }
    /** The provider is not the slow side now, so its timeouts pause. */
    function pause(isFull: boolean, ms: number, counted: Promise<CostOverrun | undefined> | undefined): void {
      timeouts.pause();
      answer.pause();
      const restOrCut = (overrun: CostOverrun | undefined) => (overrun ? cut(overrun) : resume());
      const resumeCounted = () =>
        counted === undefined ? resume() : void counted.then(restOrCut, () => cut('broken'));
      const rest = () => (ms > 0 ? void setTimeout(resumeCounted, ms) : resumeCounted());
      if (isFull) response.once('drain', rest);
      else rest();
    }

    const take = (piece: Buffer) => {
      const began = cpuMs();
      const isFull = !response.write(redacted.push(piece));
      timeouts.received(sizes.hasData(piece));
      const counted = count(piece);
      if (typeof counted === 'string') return cut(counted);
      if (sizes.areTooLarge()) return cut('too_large');
      const ms = readRate.take(piece.length, cpuMs() - began);
      if (isFull || ms > 0 || counted) pause(isFull, ms, counted);
    };
    answer.on('data', (piece: Buffer) => {
      try {
        take(piece);
      } catch {
        // An error thrown here would be uncaught, and it only concerns this response.
        cut('broken');
      }
    });
    answer.once('end', () => response.end(redacted.end()));
    // The `close` event reports the outcome.
    answer.on('error', () => {});
    answer.once('close', () => {
      timeouts.end();
      const isWhole = answer.complete && answer.readableEnded;
      const isGone = response.destroyed;
      if (!isWhole) response.destroy();
      resolve(isWhole ? 'whole' : (why ?? (isGone ? 'gone' : 'broken')));
    });
  });
}

/** Reads the error message of a provider without the key, as much of it as arrives in time. */
export async function readError({
  answer,
  redaction,
  times: { silenceMs },
}: Pick<ForwardOptions, 'answer' | 'redaction' | 'times'>): Promise<string> {
  const redacted = redaction.stream();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => answer.destroy(), silenceMs);
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > errorBytesMax) break;
      pieces.push(redacted.push(piece));
    }
    // The rest could be the start of the key otherwise.
    if (bytes <= errorBytesMax) pieces.push(redacted.end());
  } catch {
    // The provider closed the connection.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).toString();
}
