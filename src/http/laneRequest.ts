// Requests as the server makes them, with two short cuts: headers that a connection repeats are made once, and a small
// body can be had whole, without the machinery of a stream.
import { type IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

const lastHead = Symbol('last head');

type KnownSocket = Socket & { [lastHead]?: Head };

interface Head {
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export class LaneRequest extends IncomingMessage {
  #headers: IncomingHttpHeaders | undefined;
  #onBody: ((bytes: Buffer) => void) | undefined;
  #pieces: Buffer[] = [];

  /** Of this request, or of an earlier one of its connection that had the same: not to be changed. */
  // @ts-expect-error: in Node they have been made on demand for long, in its types they are a property
  override get headers(): IncomingHttpHeaders {
    this.#headers ??= this.#findHeaders();
    return this.#headers;
  }

  #findHeaders(): IncomingHttpHeaders {
    const { rawHeaders } = this;
    const socket: KnownSocket = this.socket;
    const last = socket[lastHead];
    if (last !== undefined && same(last.rawHeaders, rawHeaders)) return last.headers;
    const headers: IncomingHttpHeaders = Reflect.get(IncomingMessage.prototype, 'headers', this);
    socket[lastHead] = { rawHeaders, headers: Object.freeze(headers) };
    return headers;
  }

  /** Hands over the body once it is whole; one that breaks off never is. Nobody may have begun to read it. */
  takeBody(onBody: (bytes: Buffer) => void): void {
    this.#onBody = onBody;
    // Tells Node that somebody reads.
    this._read(0);
  }

  /** Node puts the pieces of the body here as they come, and null at the end. */
  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.#onBody === undefined) return super.push(piece, encoding);
    if (piece !== null) {
      this.#pieces.push(piece);
      return true;
    }
    const [only] = this.#pieces;
    const bytes = only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    const onBody = this.#onBody;
    // Node holds on to the request until the connection has another.
    this.#onBody = undefined;
    this.#pieces = [];
    onBody(bytes);
    return true;
  }
}
