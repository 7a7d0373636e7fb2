// An answer of a provider on its way to the agent: piece by piece, as it comes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { kib } from '../schema.ts';
import type { Redaction } from './redaction.ts';
import type { GatewayTimes } from './times.ts';

const errorBytesMax = 64 * kib;
const answerHeaders = ['content-type', 'request-id', 'x-request-id'] as const;

/** How it came to an end: as it should, cut off by the provider or by its silence, or because the agent went away. */
export type Passed = 'whole' | 'broken' | 'silent' | 'gone';

interface Passing {
  readonly answer: IncomingMessage;
  readonly response: ServerResponse;
  readonly count: (piece: Buffer) => void;
  readonly redaction: Redaction;
  readonly times: GatewayTimes;
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

/** Each piece is sent on, then counted. Where the answer is not whole, the agent's connection is cut, too. */
export function pass(passing: Passing): Promise<Passed> {
  const { answer, response, count, redaction } = passing;
  const { firstByteMs, silenceMs } = passing.times;
  const redacted = redaction.stream();
  sendHead(passing);
  return new Promise((resolve) => {
    let isSilent = false;
    const wait = (ms: number) =>
      setTimeout(() => {
        isSilent = true;
        answer.destroy();
      }, ms);
    let timer = wait(firstByteMs);
    let hasBegun = false;

    function heard(): void {
      if (hasBegun) return void timer.refresh();
      hasBegun = true;
      clearTimeout(timer);
      timer = wait(silenceMs);
    }
    /** Whoever is slow now, it is not the provider. */
    function holdBack(): void {
      clearTimeout(timer);
      answer.pause();
      response.once('drain', () => {
        timer = wait(silenceMs);
        answer.resume();
      });
    }

    answer.on('data', (piece: Buffer) => {
      heard();
      if (!response.write(redacted.push(piece))) holdBack();
      count(piece);
    });
    answer.once('end', () => response.end(redacted.end()));
    // What it means is told by its end.
    answer.on('error', () => {});
    answer.once('close', () => {
      clearTimeout(timer);
      const isWhole = answer.complete && answer.readableEnded;
      const isGone = response.destroyed;
      if (!isWhole) response.destroy();
      resolve(isWhole ? 'whole' : isSilent ? 'silent' : isGone ? 'gone' : 'broken');
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
