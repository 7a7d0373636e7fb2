// Server-sent events: how entries of a log are written to an HTTP response.
import type { ServerResponse } from 'node:http';
import type { PartialText } from './decoder/openTexts.ts';
import type { Batch, Entry, Receiver } from './receiver.ts';
import type { UnsentBytes } from './unsentBytes.ts';

export interface SseOptions {
  /** Counts what the client has not taken yet. */
  readonly unsent: UnsentBytes;
  readonly userId: number;
  /** The client has asked for unfinished texts. */
  readonly partials?: boolean;
}

/** A connection that accepts no data for this time, although some is waiting, is closed. */
const stalledMs = 60_000;
const heartbeat = ': still here\n\n';

function frames(entries: readonly Entry[]): Buffer {
  return Buffer.from(entries.map(({ cursor, data }) => `id: ${cursor}\ndata: ${data}\n\n`).join(''));
}

/** Without `id`, because a partial does not move the cursor. */
function partialFrames(partials: readonly PartialText[]): Buffer {
  const frame = ({ of, kind, from, text }: PartialText) =>
    `event: partial\ndata: ${JSON.stringify({ of, kind, from, text })}\n\n`;
  return Buffer.from(partials.map(frame).join(''));
}

/** The headers of the response must have been sent. */
export function sseReceiver(
  response: ServerResponse,
  { unsent, userId, partials = false }: SseOptions,
): Receiver {
  const { hold, release, releaseAll } = unsent.openStream(userId, () => response.destroy());

  function write(buffer: Buffer): boolean {
    hold(buffer);
    return !response.destroyed && response.write(buffer, () => release(buffer));
  }

  response.once('close', releaseAll);
  // Node counts the bytes that the connection accepts, so a client that reads slowly is not closed.
  response.setTimeout(stalledMs, () => response.destroy());
  return {
    receive: (batch) => write(batch.as(frames)),
    ...(partials ? { receivePartials: (batch: Batch<PartialText>) => write(batch.as(partialFrames)) } : {}),
    beat: () => void response.write(heartbeat),
    end: () => void response.end(),
    destroy: () => void response.destroy(),
    onDrain: (listener) => void response.on('drain', listener),
    onClose: (listener) => void response.on('close', listener),
  };
}
