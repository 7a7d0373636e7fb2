// Reads, from an answer that passes by, what it took. Nothing is held back: a piece is looked at after it was sent on.
import { kib } from '../../validation/schema.ts';
import { createHeldBytes } from '../heldBytes.ts';
import { type Json, type ModelProtocol, noTokens, type Tokens } from '../protocols/protocol.ts';
import { findToldAtEnd, parseObject } from './toldUsage.ts';

/** Of longer lines and answers only the end is looked at. */
const parsedBytesMax = 64 * kib;
/** About, in any language. */
const bytesPerToken = 4;
/** About what a part of a stream has around its text, and how much text there is in it at most: some quote the request. */
const frameChars = 300;
const partTokensMax = 256;
const lineEnd = 0x0a;
const dataField = 'data:';

export interface UsageReader {
  push(piece: Buffer): void;
  /** What it has taken by now, guessed from its size. */
  guess(): Tokens;
  /** What it took; guessed from its size where it did not say, or not to its end. */
  end(isWhole: boolean): Tokens;
}

/** A part of a stream holds a token, or more where it is long. */
function tokensIn(bytes: number): number {
  return Math.min(partTokensMax, Math.max(1, Math.ceil((bytes - frameChars) / bytesPerToken)));
}

/** Of a request that was not answered, or of an answer that did not say. */
export function guessTokens(requestBytes: number, output = 0): Tokens {
  return { ...noTokens, input: Math.ceil(requestBytes / bytesPerToken), output };
}

interface ReaderOptions {
  readonly protocol: ModelProtocol;
  readonly isStream: boolean;
  readonly requestBytes: number;
}

export function createUsageReader({ protocol, isStream, requestBytes }: ReaderOptions): UsageReader {
  const held = createHeldBytes(parsedBytesMax);
  let bytes = 0;
  let streamed = 0;
  let tokens = noTokens;

  function look(part: Json | undefined): void {
    if (part !== undefined) tokens = protocol.read(part, tokens);
  }

  function lookAtWhole(text: string): void {
    // Most parts of a stream say nothing of it.
    if (/usage/i.test(text)) look(parseObject(text));
  }

  function lookAtLine(line: string): void {
    if (!line.startsWith(dataField)) return;
    streamed += tokensIn(line.length);
    lookAtWhole(line.slice(dataField.length));
  }

  function lookAtHeld(): void {
    const { head, text, bytes: size } = held.take();
    const isWhole = size <= parsedBytesMax;
    if (isWhole && isStream) lookAtLine(text);
    else if (isWhole) lookAtWhole(text);
    else if (!isStream || head.startsWith(dataField)) {
      streamed += tokensIn(size);
      look(findToldAtEnd(text));
    }
  }

  function pushLines(piece: Buffer): void {
    const first = piece.indexOf(lineEnd);
    const last = piece.lastIndexOf(lineEnd);
    if (first !== -1) {
      held.add(piece.subarray(0, first));
      lookAtHeld();
      for (const line of piece.toString('utf8', first + 1, last).split('\n')) lookAtLine(line);
    }
    held.add(piece.subarray(last + 1));
  }

  const guess = () => guessTokens(requestBytes, isStream ? streamed : Math.ceil(bytes / bytesPerToken));

  return {
    guess,
    push: (piece) => {
      bytes += piece.length;
      if (isStream) pushLines(piece);
      else held.add(piece);
    },
    end: (isWhole) => {
      lookAtHeld();
      const isTold = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0;
      if (!isTold) return guess();
      return isWhole ? tokens : { ...tokens, output: Math.max(tokens.output, guess().output) };
    },
  };
}
