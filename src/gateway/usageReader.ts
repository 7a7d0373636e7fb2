// Reads, from an answer that passes by, what it took. Nothing is held back: a piece is looked at after it was sent on.
import { isObject, type ModelProtocol, noTokens, type Tokens } from './protocols/protocol.ts';

/** Longer lines are not looked at: none that tells of tokens is that long. */
const lineCharsMax = 1_048_576;
/** Of an answer in one piece. */
const wholeCharsMax = 16_777_216;
/** About, in any language. */
const bytesPerToken = 4;
/** About what a part of a stream has around its text, and how much text there is in it at most: some quote the request. */
const frameChars = 300;
const partTokensMax = 256;

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

interface ReaderOptions {
  readonly protocol: ModelProtocol;
  readonly isStream: boolean;
  readonly requestBytes: number;
}

export function createUsageReader({ protocol, isStream, requestBytes }: ReaderOptions): UsageReader {
  const decoder = new TextDecoder();
  let rest = '';
  let bytes = 0;
  let streamed = 0;
  let tokens = noTokens;

  function look(text: string): void {
    // Most parts of a stream say nothing of it.
    if (!/usage/i.test(text)) return;
    const part = parse(text);
    if (part !== undefined) tokens = protocol.read(part, tokens);
  }

  function lookAtLines(): void {
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      streamed += tokensIn(line);
      look(line.slice('data:'.length));
    }
    if (rest.length > lineCharsMax) rest = '';
  }

  function guess(): Tokens {
    const output = isStream ? streamed : Math.ceil(bytes / bytesPerToken);
    return { ...noTokens, input: Math.ceil(requestBytes / bytesPerToken), output };
  }

  return {
    push: (piece) => {
      bytes += piece.length;
      if (!isStream && rest.length > wholeCharsMax) return;
      rest += decoder.decode(piece, { stream: true });
      if (isStream) lookAtLines();
    },
    end: (isWhole) => {
      if (isStream) rest += '\n';
      if (isStream) lookAtLines();
      else look(rest);
      const isTold = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0;
      if (!isTold) return guess();
      return isWhole ? tokens : { ...tokens, output: Math.max(tokens.output, guess().output) };
    },
  };
}
