// Sends a response: at once, slowly, in part, or not at all.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InjectedFault } from './injectedFaults.ts';
import type { Json, Sent } from './wire.ts';

/** A response that is ready to be sent. */
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

/** The body has two pieces, so that it can be cut in its middle. */
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
  // The timer need not keep the process alive, because the connection of the client does.
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

/** Sends half of the pieces. */
function sendHalf(response: ServerResponse, { headers, pieces }: Delivery): void {
  const half = pieces.slice(0, Math.ceil(pieces.length / 2)).join('');
  response.writeHead(200, headers).write(half, () => response.socket?.destroy());
}

export async function deliver(
  response: ServerResponse,
  delivery: Delivery,
  fault: InjectedFault | undefined,
): Promise<void> {
  if (fault === undefined) {
    response.writeHead(200, delivery.headers);
    for (const piece of delivery.pieces) response.write(piece);
    response.end();
  } else if ('fail' in fault) {
    const { status, retryAfterS } = fault.fail;
    if (retryAfterS !== undefined) response.setHeader('retry-after', String(retryAfterS));
    refuse(response, status, 'The script injects this error.');
  } else if ('slow' in fault) await sendSlowly(response, delivery, fault.slow);
  else if (fault.drop === 'middle') sendHalf(response, delivery);
  else response.socket?.destroy();
}
