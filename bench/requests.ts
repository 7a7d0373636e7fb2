// The measured requests, as bytes for the load and as a single call whose response is checked.
import { request } from 'node:http';

export const sessionKey = 'bench-session-key-0123456789abcdef0123456789abcdef';
export const bearerToken = 'bench-bearer-token-0123456789abcdef0123456789abcdef';

export interface Ask {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  /** The headers as sent, without those that Node adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keepAliveMs: number;
  readonly body: string;
}

export const createBody = {
  initial_user_msg:
    'The login page shows a blank screen when the session has expired. Please find out why, fix it, and add a test that fails without the fix. Keep the change small.',
  repository: 'octo-org/storefront',
  git_provider: 'github',
  selected_branch: 'main',
} as const;

export const getFull: Ask = {
  method: 'GET',
  path: '/api/settings',
  headers: { 'X-Session-API-Key': sessionKey },
};

export const getReduced: Ask = {
  method: 'GET',
  path: '/api/settings',
  headers: { Authorization: `Bearer ${bearerToken}` },
};

export const postConversation: Ask = {
  method: 'POST',
  path: '/api/conversations',
  headers: { 'X-Session-API-Key': sessionKey, 'Content-Type': 'application/json' },
  body: JSON.stringify(createBody),
};

export const message =
  'Thank you. Now do the same for the page that asks for a new password, and tell me what you changed.';
const messageBody = JSON.stringify({ message });

export function sendMessage(id: string): Ask {
  return { ...postConversation, path: `/api/conversations/${id}/message`, body: messageBody };
}

export function followConversation(id: string): Ask {
  return { ...getFull, path: `/api/conversations/${id}/events/stream` };
}

const addedByNode = new Set(['date', 'connection', 'keep-alive']);
const commonHeaders = { Accept: 'application/json', 'User-Agent': 'parley-bench' };

function headersOf({ headers, body }: Ask): Record<string, string> {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  return { ...commonHeaders, ...headers, ...length };
}

/** Returns the whole request as bytes. */
export function wireRequest(ask: Ask, url: string): string {
  const lines = Object.entries({ Host: new URL(url).host, ...headersOf(ask) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${ask.method} ${ask.path} HTTP/1.1\r\n${head}\r\n${ask.body ?? ''}`;
}

/** Sends one request. Throws if the response is not 200. */
export async function sendOnce(url: string, ask: Ask): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(url + ask.path, { method: ask.method, headers: headersOf(ask) }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const status = response.statusCode ?? 0;
      if (status !== 200) return reject(new Error(`${ask.method} ${ask.path} gave ${status}: ${body}`));
      const { rawHeaders } = response;
      const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []));
      const kept = pairs.filter(([name = '']) => !addedByNode.has(name.toLowerCase()));
      const [, seconds = '5'] = /timeout=(\d+)/.exec(String(response.headers['keep-alive'])) ?? [];
      resolve({ status, headers: Object.fromEntries(kept), keepAliveMs: Number(seconds) * 1_000, body });
    });
  });
  sent.on('error', reject);
  sent.end(ask.body);
  return promise;
}
