// How an answer goes out: at once, slowly, in part, or not at all.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trouble } from './troubles.ts';
import type { Json, Sent } from './wire.ts';

/** An answer, ready to be sent. */
interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly string[];
}

export function sendJson(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function refuse(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'scripted_model', code: null } });
}

/** In two pieces, so that it has a middle. */
export function wholeDelivery(body: Json): Delivery {
  const text = JSON.stringify(body);
  const middle = text.length >> 1;
  return {
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) },
    pieces: [text.slice(0, middle), text.slice(middle)],
  };
}

export function streamDelivery(parts: readonly Sent[]): Delivery {
  return {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    pieces: parts.map(({ event, data }) => {
      const name = event === undefined ? '' : `event: ${event}\n`;
      return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
    }),
  };
}

async function sendSlowly(
  response: ServerResponse,
  { headers, pieces }: Delivery,
  { firstMs = 0, betweenMs = 0 }: { readonly firstMs?: number; readonly betweenMs?: number },
): Promise<void> {
  // Whoever is still to be answered has a connection, which is what keeps the program alive.
  const wait = (ms: number) => sleep(ms, undefined, { ref: false });
  await wait(firstMs);
  response.writeHead(200, headers);
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) await wait(betweenMs);
    if (response.destroyed) return;
    response.write(piece);
  }
  response.end();
}

/** Half of the pieces arrive. */
function sendHalf(response: ServerResponse, { headers, pieces }: Delivery): void {
  const half = pieces.slice(0, Math.ceil(pieces.length / 2)).join('');
  response.writeHead(200, headers).write(half, () => response.socket?.destroy());
}

export async function deliver(
  response: ServerResponse,
  delivery: Delivery,
  trouble: Trouble | undefined,
): Promise<void> {
  if (trouble === undefined) {
    response.writeHead(200, delivery.headers);
    for (const piece of delivery.pieces) response.write(piece);
    response.end();
  } else if ('fail' in trouble) {
    const { status, retryAfterS } = trouble.fail;
    if (retryAfterS !== undefined) response.setHeader('retry-after', String(retryAfterS));
    refuse(response, status, 'The script wants it so.');
  } else if ('slow' in trouble) await sendSlowly(response, delivery, trouble.slow);
  else if (trouble.drop === 'middle') sendHalf(response, delivery);
  else response.socket?.destroy();
}
