// Bodies of answers, read piece by piece: whoever answers cannot make us keep more than we are ready for.
import { ParleyError } from './errors.ts';

const mib = 1_024 * 1_024;
/** The largest of ours hold a message with its images. */
export const answerBytesMax = 64 * mib;
/** No log that can be parsed is larger. */
export const trajectoryBytesMax = 512 * mib;
export const errorBytesMax = mib;

/** Answers below this may be as deep as they are. */
const shallowCharsMax = mib;
const depthMax = 1_000;

export interface Reading {
  readonly bytesMax: number;
  /** Told of each piece. */
  readonly onPiece: () => void;
}

async function* piecesOf(
  response: Response,
  { bytesMax, onPiece }: Reading,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    onPiece();
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      reader.cancel().catch(() => {});
      throw new ParleyError('unexpected', 'The answer is larger than any of Parley.', {
        status: response.status,
      });
    }
    yield value;
  }
}

/** To parse brackets in brackets takes forty times the memory of their text. */
function isTooDeep(text: string): boolean {
  let [depth, quoted] = [0, false];
  for (let i = 0; i < text.length && depth <= depthMax; i++) {
    const character = text[i];
    if (character === '"') quoted = !quoted;
    else if (quoted && character === '\\') i += 1;
    else if (!quoted && (character === '[' || character === '{')) depth += 1;
    else if (!quoted && (character === ']' || character === '}')) depth -= 1;
  }
  return depth > depthMax;
}

/** Throws a ParleyError where it is no JSON or more than `bytesMax`. */
export async function readJson(response: Response, reading: Reading): Promise<unknown> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  for await (const piece of piecesOf(response, reading)) texts.push(decoder.decode(piece, { stream: true }));
  const text = texts.join('') + decoder.decode();
  try {
    if (text.length < shallowCharsMax || !isTooDeep(text)) return JSON.parse(text);
  } catch {
    // Told below.
  }
  throw new ParleyError('unexpected', 'The answer is not JSON: is this address one of Parley?', {
    status: response.status,
  });
}

/** As a file that can be kept. */
export async function readBlob(response: Response, onPiece: () => void): Promise<Blob> {
  const bounds = { bytesMax: Number.POSITIVE_INFINITY, onPiece };
  const type = response.headers.get('content-type') ?? '';
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of piecesOf(response, bounds)) pieces.push(piece);
  return new Blob(pieces, { type });
}
