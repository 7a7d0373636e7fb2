// Checks the way from here to the service: whether proxies pass streams, WebSockets and large bodies.
import { WebSocket } from 'ws';
import type { Diagnostics, Fetch } from '../../client/parley.ts';
import { type Finding, note, ok, proxyDocs, wrong } from './finding.ts';

/** A stream that starts later is held back by a proxy. */
const firstBytesMsMax = 5_000;
const socketMsMax = 10_000;
const largeBodyMsMax = 60_000;
/** Just below what the service accepts. */
const largeBodyBytes = 15_000_000;
/** An answer that is longer than this is not an error of the service. */
const errorCharsMax = 10_000;

/** How a request is sent to the service. */
interface Path {
  readonly url: string;
  readonly key: string;
  readonly send: Fetch;
}

/** What was answered instead of what was asked for. */
interface Refusal {
  readonly status: number;
  /** The error of the service; undefined if something else has answered, such as a proxy. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

async function readRefusal(response: Response): Promise<Refusal> {
  const { status } = response;
  try {
    const text = await response.text();
    if (text.length > errorCharsMax) return { status, error: undefined };
    const { error, code, request_id: requestId } = JSON.parse(text) as Record<string, unknown>;
    const isOwn = typeof error === 'string' && typeof code === 'string' && typeof requestId === 'string';
    return { status, error: isOwn ? { code, message: error } : undefined };
  } catch {
    return { status, error: undefined };
  }
}

/** The finding for an answer of the service itself, which does not show how a proxy treats other answers. */
function notChecked(
  check: string,
  what: string,
  { code, message }: { code: string; message: string },
  scope: string,
) {
  const remedy =
    code === 'forbidden' || code === 'unauthorized'
      ? `Use an API key with the scope ${scope}.`
      : 'Run this command again later.';
  return note(check, `${what} could not be checked. The service answered: ${message}`, remedy);
}

/** The innermost error has the code of the operating system. */
function describeFault(error: unknown): string {
  const { cause, code, message } = error as NodeJS.ErrnoException;
  return cause === undefined ? (code ?? message) : describeFault(cause);
}

async function checkStreams({ url, key, send }: Path): Promise<Finding> {
  const stop = new AbortController();
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    stop.abort();
  }, firstBytesMsMax);
  const broken = (message: string) =>
    wrong(
      'streams',
      message,
      `Check the log of the proxy, and that it passes text/event-stream on. ${proxyDocs}`,
    );
  try {
    const headers = { 'x-session-api-key': key, accept: 'text/event-stream' };
    const response = await send(`${url}/api/events/stream`, { headers, signal: stop.signal });
    const type = response.headers.get('content-type') ?? 'none';
    if (!response.ok) {
      const { status, error } = await readRefusal(response);
      if (error !== undefined) return notChecked('streams', 'Streams', error, 'conversations:read');
      return broken(`A stream was answered with ${status}, and not by the service.`);
    }
    if (!type.startsWith('text/event-stream'))
      return broken(`A stream was answered with the content type ${type}, and not by the service.`);
    const { done } = (await response.body?.getReader().read()) ?? { done: true };
    return done ? broken('A stream was ended at once.') : ok('streams', 'Events arrive as they happen.');
  } catch (error) {
    if (!isLate) return broken(`A stream was interrupted: ${describeFault(error)}.`);
    return wrong(
      'streams',
      `No event arrived within ${firstBytesMsMax / 1_000} s: probably a proxy collects the response before it passes it on.`,
      `Switch off the buffering of responses in the proxy (nginx: proxy_buffering off). ${proxyDocs}`,
    );
  } finally {
    clearTimeout(late);
    stop.abort();
  }
}

/** Why there is no WebSocket, or undefined if there is one. */
function socketFault({ url, key }: Path): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/acp`, {
      headers: { 'x-session-api-key': key },
      handshakeTimeout: socketMsMax,
    });
    const end = (fault?: string) => {
      socket.terminate();
      resolve(fault);
    };
    socket.once('open', () => end());
    socket.once('error', ({ message }) => end(message));
  });
}

async function checkSockets(path: Path): Promise<Finding> {
  const fault = await socketFault(path);
  if (fault === undefined) return ok('sockets', 'WebSockets reach the service.');
  return wrong(
    'sockets',
    `A WebSocket does not reach the service: ${fault}.`,
    `Let the proxy pass the headers Upgrade and Connection. ${proxyDocs}`,
  );
}

const mb = `${largeBodyBytes / 1_000_000} MB`;
/** What the service answers to the creation below, when it has read all of it. */
const refusedCode = 'invalid';
const tooLarge = 413;

function judgeBody({ status, error }: Refusal): Finding {
  if (status === tooLarge)
    return wrong(
      'bodies',
      `A proxy refuses a request of ${mb}.`,
      `Let the proxy accept bodies of 16 MB (nginx: client_max_body_size 16m). ${proxyDocs}`,
    );
  if (error?.code === refusedCode) return ok('bodies', `A request of ${mb} reaches the service.`);
  if (error !== undefined) return notChecked('bodies', 'Large requests', error, 'conversations:write');
  return wrong(
    'bodies',
    `A request of ${mb} was answered with ${status}, and not by the service.`,
    `Check the log of the proxy. ${proxyDocs}`,
  );
}

/** Sends a creation that the service refuses in any case, so that nothing is stored. */
async function checkBodies({ url, key, send }: Path): Promise<Finding> {
  try {
    const response = await send(`${url}/api/conversations`, {
      method: 'POST',
      headers: { 'x-session-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ initial_user_msg: 0, padding: 'x'.repeat(largeBodyBytes) }),
      signal: AbortSignal.timeout(largeBodyMsMax),
    });
    return judgeBody(await readRefusal(response));
  } catch (error) {
    if ((error as Error).name === 'TimeoutError')
      return wrong(
        'bodies',
        `A request of ${mb} was not answered within ${largeBodyMsMax / 1_000} s.`,
        'Check how fast the connection is, and the timeouts of the proxy.',
      );
    return wrong(
      'bodies',
      `A request of ${mb} does not reach the service: ${describeFault(error)}.`,
      `Check the log of the proxy, and that it accepts bodies of 16 MB (nginx: client_max_body_size 16m). ${proxyDocs}`,
    );
  }
}

/** Checks what the service says about this connection. */
function checkForwarding(url: string, { connection }: Diagnostics): Finding[] {
  const { forwarded, trusts_proxy: trusts, protocol, address } = connection;
  if (forwarded && !trusts)
    return [
      note(
        'proxy',
        `There is a proxy in front of the service, which does not trust it: all clients have the address ${address} there, and share one limit of failed authentications.`,
        'Set PARLEY_TRUST_PROXY of the service to the number of proxies, or to their addresses.',
      ),
    ];
  if (trusts && `${protocol}:` !== new URL(url).protocol)
    return [
      note(
        'proxy',
        `The proxy tells the service that this request came by ${protocol}.`,
        'Let the proxy set X-Forwarded-Proto and replace what the client has sent.',
      ),
    ];
  return forwarded ? [ok('proxy', `The service knows the address of this client: ${address}.`)] : [];
}

/** `diagnostics` is undefined if the service does not give them to this API key. */
export async function checkPath(path: Path, diagnostics: Diagnostics | undefined): Promise<Finding[]> {
  const proxy =
    diagnostics === undefined
      ? [
          note(
            'proxy',
            'The service does not tell this API key how requests reach it.',
            'Use an API key with the scope admin.',
          ),
        ]
      : checkForwarding(path.url, diagnostics);
  return [...proxy, await checkStreams(path), await checkSockets(path), await checkBodies(path)];
}
