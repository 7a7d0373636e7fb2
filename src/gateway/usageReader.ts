// Reads, from an answer that passes by, what it took. Nothing is held back: a piece is looked at after it was sent on.
import { createHeldBytes } from './heldBytes.ts';
import { isObject, type ModelProtocol, noTokens, type Tokens } from './protocols/protocol.ts';

/** Longer lines are not looked at: none that tells of tokens is that long. */
const lineBytesMax = 1_048_576;
/** Of an answer in one piece. */
const wholeBytesMax = 16_777_216;
/** About, in any language. */
const bytesPerToken = 4;
/** About what a part of a stream has around its text, and how much text there is in it at most: some quote the request. */
const frameChars = 300;
const partTokensMax = 256;
const lineEnd = 0x0a;

export interface UsageReader {
  push(piece: Buffer): void;
  /** What it took; guessed from its size where it did not say, or not to its end. */
  end(isWhole: boolean): Tokens;
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A part of a stream holds a token, or more where it is long. */
function tokensIn({ length }: string): number {
  return Math.min(partTokensMax, Math.max(1, Math.ceil((length - frameChars) / bytesPerToken)));
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
  const held = createHeldBytes(isStream ? lineBytesMax : wholeBytesMax);
  let bytes = 0;
  let streamed = 0;
  let tokens = noTokens;

  function look(text: string): void {
    // Most parts of a stream say nothing of it.
    if (!/usage/i.test(text)) return;
    const part = parse(text);
    if (part !== undefined) tokens = protocol.read(part, tokens);
  }

  function lookAtLine(line: string): void {
    if (!line.startsWith('data:')) return;
    streamed += tokensIn(line);
    look(line.slice('data:'.length));
  }

  function pushLines(piece: Buffer): void {
    const first = piece.indexOf(lineEnd);
    const last = piece.lastIndexOf(lineEnd);
    if (first !== -1) {
      held.add(piece.subarray(0, first));
      lookAtLine(held.take());
      for (const line of piece.toString('utf8', first + 1, last).split('\n')) lookAtLine(line);
    }
    held.add(piece.subarray(last + 1));
  }

  const guess = () => guessTokens(requestBytes, isStream ? streamed : Math.ceil(bytes / bytesPerToken));

  return {
    push: (piece) => {
      bytes += piece.length;
      if (isStream) pushLines(piece);
      else held.add(piece);
    },
    end: (isWhole) => {
      if (isStream) lookAtLine(held.take());
      else look(held.take());
      const isTold = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0;
      if (!isTold) return guess();
      return isWhole ? tokens : { ...tokens, output: Math.max(tokens.output, guess().output) };
    },
  };
}
