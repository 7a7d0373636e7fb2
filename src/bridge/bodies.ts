// Request bodies that the bridge must buffer before it can forward them, with a limit on the bytes per run and on the
// time per body.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mib } from '../validation/schema.ts';

const bufferedBytesMaxDefault = 64 * mib;
const bodyMs = 60_000;

/** Why a body was refused, with the status of the response. */
export interface BodyRefusal {
  readonly status: 408 | 413 | 503;
  readonly sentence: string;
}

export interface Bodies {
  /** Reads the body. It counts as buffered until the response is sent. */
  read(request: IncomingMessage, response: ServerResponse, bytesMax: number): Promise<Buffer | BodyRefusal>;
}

export function createBodies(heldBytesMax = bufferedBytesMaxDefault): Bodies {
  let held = 0;

  async function read(
    request: IncomingMessage,
    response: ServerResponse,
    bytesMax: number,
  ): Promise<Buffer | BodyRefusal> {
    const pieces: Buffer[] = [];
    let size = 0;
    let refusal: BodyRefusal | undefined;
    const timer = setTimeout(() => request.destroy(), bodyMs);
    const release = () => {
      held -= size;
      size = 0;
    };
    response.once('close', release);
    const refuse = (status: BodyRefusal['status'], sentence: string) => {
      refusal ??= { status, sentence };
      // The rest is read and dropped, so that the response arrives.
      pieces.length = 0;
      release();
    };
    try {
      for await (const piece of request as AsyncIterable<Buffer>) {
        if (refusal !== undefined) continue;
        size += piece.length;
        held += piece.length;
        if (size > bytesMax) refuse(413, `A body may be of ${Math.floor(bytesMax / mib)} MiB.`);
        else if (held > heldBytesMax) refuse(503, 'Too much is being sent at once; try again.');
        else pieces.push(piece);
      }
    } catch {
      refuse(408, 'The body did not arrive.');
    } finally {
      clearTimeout(timer);
    }
    return refusal ?? Buffer.concat(pieces);
  }

  return { read };
}
