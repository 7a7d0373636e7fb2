// Reads the usage from an answer while it is forwarded. Nothing is delayed, because each piece is read after it was
// sent.

import type { JsonObject } from '../../text/foreignText.ts';
import { kib } from '../../validation/schema.ts';
import { type ModelProtocol, noTokens, type Tokens } from '../protocols/protocol.ts';
import { createTailBuffer } from '../tailBuffer.ts';
import { findUsageAtEnd, parseObject } from './reportedUsage.ts';

/** Only the end of longer lines and answers is parsed. */
const parsedBytesMax = 64 * kib;
/** An estimate for any language. */
const bytesPerToken = 4;
/**
 * Estimates of the framing around the text of a stream event, and of its most tokens: some events quote the request.
 */
const frameChars = 300;
const partTokensMax = 256;
const lineEnd = 0x0a;
const dataField = 'data:';

export interface UsageReader {
  push(piece: Buffer): void;
  /** The tokens so far, estimated from the size. */
  estimate(): Tokens;
  /** The tokens of the answer, estimated from the size if it was not complete or did not report them. */
  end(isWhole: boolean): Tokens;
}

/** An event of a stream carries at least one token. */
function tokensIn(bytes: number): number {
  return Math.min(partTokensMax, Math.max(1, Math.ceil((bytes - frameChars) / bytesPerToken)));
}

/** For a request without an answer, or an answer without a usage report. */
export function estimateTokens(requestBytes: number, output = 0): Tokens {
  return { ...noTokens, input: Math.ceil(requestBytes / bytesPerToken), output };
}

interface ReaderOptions {
  readonly protocol: ModelProtocol;
  readonly isStream: boolean;
  readonly requestBytes: number;
}

export function createUsageReader({ protocol, isStream, requestBytes }: ReaderOptions): UsageReader {
  const buffer = createTailBuffer(parsedBytesMax);
  let bytes = 0;
  let streamed = 0;
  let tokens = noTokens;

  function readPart(part: JsonObject | undefined): void {
    if (part !== undefined) tokens = protocol.read(part, tokens);
  }

  function readText(text: string): void {
    // Most events of a stream do not contain it.
    if (/usage/i.test(text)) readPart(parseObject(text));
  }

  function readLine(line: string): void {
    if (!line.startsWith(dataField)) return;
    streamed += tokensIn(line.length);
    readText(line.slice(dataField.length));
  }

  function readBuffered(): void {
    const { head, text, bytes: size } = buffer.take();
    const isWhole = size <= parsedBytesMax;
    if (isWhole && isStream) readLine(text);
    else if (isWhole) readText(text);
    else if (!isStream || head.startsWith(dataField)) {
      streamed += tokensIn(size);
      readPart(findUsageAtEnd(text));
    }
  }

  function pushLines(piece: Buffer): void {
    const first = piece.indexOf(lineEnd);
    const last = piece.lastIndexOf(lineEnd);
    if (first !== -1) {
      buffer.add(piece.subarray(0, first));
      readBuffered();
      for (const line of piece.toString('utf8', first + 1, last).split('\n')) readLine(line);
    }
    buffer.add(piece.subarray(last + 1));
  }

  const estimate = () => estimateTokens(requestBytes, isStream ? streamed : Math.ceil(bytes / bytesPerToken));

  return {
    estimate,
    push: (piece) => {
      bytes += piece.length;
      if (isStream) pushLines(piece);
      else buffer.add(piece);
    },
    end: (isWhole) => {
      readBuffered();
      const isReported = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0;
      if (!isReported) return estimate();
      return isWhole ? tokens : { ...tokens, output: Math.max(tokens.output, estimate().output) };
    },
  };
}
