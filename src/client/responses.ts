// Reads the bodies of responses piece by piece, so that a server cannot make the client hold more than the limits.
import { ParleyError } from './errors.ts';

const mib = 1_024 * 1_024;
/** The largest responses of Parley contain a message with its images. */
export const responseBytesMax = 64 * mib;
/** A larger log could not be parsed. */
export const trajectoryBytesMax = 512 * mib;
export const errorBytesMax = mib;

/** The depth of shorter responses is not checked. */
const shallowCharsMax = mib;
const depthMax = 1_000;

export interface ReadOptions {
  readonly bytesMax: number;
  /** Called for each piece of the body. */
  readonly onPiece: () => void;
}

async function* piecesOf(
  response: Response,
  { bytesMax, onPiece }: ReadOptions,
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
      throw new ParleyError('unexpected', 'The response is too large.', {
        status: response.status,
      });
    }
    yield value;
  }
}

/** Parsing nested brackets takes forty times the memory of their text. */
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

/** Throws a ParleyError if the body is not JSON or larger than `bytesMax`. */
export async function readJson(response: Response, reading: ReadOptions): Promise<unknown> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  for await (const piece of piecesOf(response, reading)) texts.push(decoder.decode(piece, { stream: true }));
  const text = texts.join('') + decoder.decode();
  try {
    if (text.length < shallowCharsMax || !isTooDeep(text)) return JSON.parse(text);
  } catch {
    // The error is thrown below.
  }
  throw new ParleyError('unexpected', 'The response is not JSON, so it does not come from Parley.', {
    status: response.status,
  });
}

export async function readBlob(response: Response, onPiece: () => void): Promise<Blob> {
  const bounds = { bytesMax: Number.POSITIVE_INFINITY, onPiece };
  const type = response.headers.get('content-type') ?? '';
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of piecesOf(response, bounds)) pieces.push(piece);
  return new Blob(pieces, { type });
}
