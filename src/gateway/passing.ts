// An answer of a provider on its way to the agent: piece by piece, as it comes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { kib } from '../validation/schema.ts';
import type { GatewayBounds } from './bounds.ts';
import { createLineWatch } from './lineWatch.ts';
import { cpuMs, type Pace } from './pace.ts';
import { createPatience, type Impatience } from './patience.ts';
import type { Redaction } from './redaction.ts';
import type { GatewayTimes } from './times.ts';

const errorBytesMax = 64 * kib;
const answerHeaders = ['content-type', 'request-id', 'x-request-id'] as const;

/**
 * How it came to an end: as it should, cut off by the provider or because of it, or because the agent went away.
 */
export type Passed = 'whole' | 'broken' | 'gone' | 'too_large' | 'too_dear' | Impatience;

interface Passing {
  readonly answer: IncomingMessage;
  readonly response: ServerResponse;
  readonly isStream: boolean;
  /** Whether it may go on. */
  readonly count: (piece: Buffer) => boolean;
  readonly redaction: Redaction;
  readonly pace: Pace;
  readonly times: GatewayTimes;
  readonly bounds: GatewayBounds;
}

function sendHead({ answer, response, redaction }: Passing): void {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  for (const name of answerHeaders) {
    const value = answer.headers[name];
    if (typeof value === 'string' && redaction.text(value) === value) headers[name] = value;
  }
  response.writeHead(answer.statusCode ?? 200, headers);
  response.flushHeaders();
}

/** Sees what passes: whether it has data in it, and when it is too much. */
function createSizes({ isStream, bounds }: Passing) {
  const lines = createLineWatch();
  let bytes = 0;
  return {
    hasData: (piece: Buffer) => {
      bytes += piece.length;
      return !isStream || lines.see(piece);
    },
    areTooLarge: () => bytes > bounds.answerBytesMax || (isStream && lines.bytes() > bounds.lineBytesMax),
  };
}

/** Each piece is sent on, then counted. Where the answer is not whole, the agent's connection is cut, too. */
export function pass(passing: Passing): Promise<Passed> {
  const { answer, response, count, redaction, pace, times } = passing;
  const redacted = redaction.stream();
  const sizes = createSizes(passing);
  sendHead(passing);
  return new Promise((resolve) => {
    let why: Passed | undefined;
    function cut(reason: Passed): void {
      why ??= reason;
      answer.destroy();
    }
    const patience = createPatience(times, cut);

    function goOn(): void {
      if (answer.destroyed) return;
      patience.goOn();
      answer.resume();
    }
    /** Whoever is slow now, it is not the provider. */
    function holdBack(isFull: boolean, ms: number): void {
      patience.hold();
      answer.pause();
      const rest = () => (ms > 0 ? void setTimeout(goOn, ms) : goOn());
      if (isFull) response.once('drain', rest);
      else rest();
    }

    const take = (piece: Buffer) => {
      const began = cpuMs();
      const isFull = !response.write(redacted.push(piece));
      patience.heard(sizes.hasData(piece));
      if (!count(piece)) return cut('too_dear');
      if (sizes.areTooLarge()) return cut('too_large');
      const ms = pace.take(piece.length, cpuMs() - began);
      if (isFull || ms > 0) holdBack(isFull, ms);
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
    // What it means is told by its end.
    answer.on('error', () => {});
    answer.once('close', () => {
      patience.end();
      const isWhole = answer.complete && answer.readableEnded;
      const isGone = response.destroyed;
      if (!isWhole) response.destroy();
      resolve(isWhole ? 'whole' : (why ?? (isGone ? 'gone' : 'broken')));
    });
  });
}

/** What a provider says of an error, without the key: as much of it as comes in time. */
export async function readError({
  answer,
  redaction,
  times: { silenceMs },
}: Pick<Passing, 'answer' | 'redaction' | 'times'>): Promise<string> {
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
    // Otherwise it may be the beginning of the key.
    if (bytes <= errorBytesMax) pieces.push(redacted.end());
  } catch {
    // The provider broke off.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).toString();
}
