// Answers with a head that is ready but for what differs from answer to answer. Node makes every header of every answer
// anew, and looks at each of its characters.
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { boundUnread } from './stall.ts';

export const keepAliveTimeoutMs = 65_000;
const keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveTimeoutMs / 1_000}\r\n\r\n`;

export interface ReadyHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The status line and those headers. */
  readonly text: string;
}

interface ReadyBody {
  readonly text: string;
  readonly bytes: number;
}

/** Where Node keeps a head that is made, until it goes out with the first piece of the body. */
type WithHead = ServerResponse & { _header: string };

const secondMs = 1_000;

/** The time as the header has it, made once a second. */
export function createDateText(now = Date.now): () => string {
  let second = -1;
  let text = '';
  return () => {
    const ms = now();
    const current = ms - (ms % secondMs);
    if (current !== second) {
      second = current;
      text = new Date(current).toUTCString();
    }
    return text;
  };
}

const dateText = createDateText();

/** The headers must be our own words: nobody looks at them again. */
export function readyHead(status: number, headers: Readonly<Record<string, string>>): ReadyHead {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return { status, headers, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}` };
}

export function sendReady(response: ServerResponse, head: ReadyHead, body: ReadyBody, id: string): void {
  const { text, bytes } = body;
  // To whoever does not stay on the connection, Node knows what to say.
  if (response.shouldKeepAlive && response.req.httpVersion === '1.1')
    (response as WithHead)._header =
      `${head.text}content-length: ${bytes}\r\nx-request-id: ${id}\r\nDate: ${dateText()}\r\n${keptAlive}`;
  else response.writeHead(head.status, { ...head.headers, 'content-length': bytes, 'x-request-id': id });
  // Plain ASCII is the same bytes either way, and cheaper to write as Latin-1.
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
  boundUnread(response);
}
