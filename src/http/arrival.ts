// Limits how long the body of a request may take to arrive. Node's own limit is the same for all requests, and uploads
// need longer.
import type { IncomingMessage, Server } from 'node:http';

const arrivalMsDefault = 60_000;
/** No request may take longer. */
export const arrivalMsMax = 20 * 60_000;

const deadline = Symbol('arrival');

type Timed = IncomingMessage & { [deadline]?: NodeJS.Timeout };

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function setDeadline(request: Timed, server: Server, ms: number): void {
  clearTimeout(request[deadline]);
  request[deadline] = setTimeout(() => {
    if (request.complete) return;
    const error = Object.assign(new Error('the request took too long'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', error, request.socket);
  }, ms).unref();
}

/** Refuses the request with 408 if its body has not arrived in time. */
export function boundArrival(request: IncomingMessage, server: Server): void {
  if (request.complete || !hasBody(request)) return;
  setDeadline(request, server, arrivalMsDefault);
  const clear = () => clearTimeout((request as Timed)[deadline]);
  request.once('end', clear).once('close', clear);
}

/** Gives this request more time. */
export function extendArrival(request: IncomingMessage, server: Server, ms: number): void {
  if (!request.complete) setDeadline(request, server, ms);
}
