// Every method with every form of body that real clients send, and the expected responses.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bodyBytesMax } from '../../src/validation/schema.ts';
import { startService, type TestService } from './service.ts';

/** Far more than any response takes: a client that waits longer hangs. */
export const answerMsMax = 30_000;

export interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for no body at all. */
  readonly body: string | null;
  /** Sent without a length, in chunks. */
  readonly chunked: boolean;
}

export interface Received {
  readonly status: number;
  readonly text: string;
}

/** A client that sends given requests. */
export interface Client {
  readonly name: string;
  /** Why it cannot be tested here. */
  readonly missing?: string | undefined;
  /** Returns false for requests that the client itself refuses. */
  can(sent: Sent): boolean;
  /** Returns the responses in the same order. Fails if one takes too long. */
  sendAll(sent: readonly Sent[]): Promise<readonly Received[]>;
}

interface Form {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly chunked: boolean;
}

interface Case extends Form {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code?: string;
  readonly key?: string;
}

const json = { 'content-type': 'application/json' };

function form(name: string, headers: Form['headers'], body: string | null, chunked = false): Form {
  return { name, headers, body, chunked };
}

const forms: readonly Form[] = [
  form('without a body', {}, null),
  form('without a body, with a type', json, null),
  form(
    'without a body, with the type of forms',
    { 'content-type': 'application/x-www-form-urlencoded' },
    null,
  ),
  form('without a body, with a type that is none', { 'content-type': 'nonsense' }, null),
  form('without a body, with an expectation', { ...json, expect: '100-continue' }, null),
  form('with an empty body', json, ''),
  form('with no chunks', json, '', true),
  form('with JSON', json, '{}'),
  form('with JSON in chunks', json, '{}', true),
  form('with JSON and an expectation', { ...json, expect: '100-continue' }, '{}'),
];

/** `:key` stands for the id of a new key. */
const targets = [
  { method: 'GET', path: '/api/settings', status: 200 },
  { method: 'GET', path: '/api/conversations/', status: 200 },
  { method: 'HEAD', path: '/api/settings', status: 200 },
  { method: 'OPTIONS', path: '/api/settings', status: 204 },
  { method: 'POST', path: '/api/conversations', status: 200 },
  { method: 'PATCH', path: '/api/settings', status: 200 },
  { method: 'PUT', path: '/api/secrets/NAME', status: 200 },
  { method: 'DELETE', path: '/api/keys/:key', status: 200 },
  { method: 'DELETE', path: '/api/settings', status: 405, code: 'method_not_allowed' },
  { method: 'POST', path: '/nowhere', status: 404, code: 'not_found' },
] as const;

const creation = { method: 'POST', path: '/api/conversations' };
const refusals: readonly Case[] = [
  { ...creation, ...form('with a wrong key', json, '{}'), status: 401, code: 'unauthorized', key: 'wrong' },
  {
    ...creation,
    ...form('with a wrong key and a large body', json, ' '.repeat(bodyBytesMax / 2)),
    status: 401,
    code: 'unauthorized',
    key: 'wrong',
  },
  { ...creation, ...form('with a broken body', json, '{'), status: 400, code: 'malformed_json' },
  { ...creation, ...form('with a wrong field', json, '{"x":1}'), status: 422, code: 'invalid' },
  {
    ...creation,
    ...form('with plain text', { 'content-type': 'text/plain' }, 'x'),
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    ...creation,
    ...form('with too large a body', json, ' '.repeat(bodyBytesMax + 1)),
    status: 413,
    code: 'body_too_large',
  },
  {
    ...creation,
    ...form('with too large a body in chunks', json, ' '.repeat(bodyBytesMax + 1), true),
    status: 413,
    code: 'body_too_large',
  },
];

const cases: readonly Case[] = [
  ...targets.flatMap((target) => forms.map((sent): Case => ({ ...sent, ...target }))),
  ...refusals,
];

async function toSent(service: TestService, { path, key, ...asked }: Case): Promise<Sent> {
  const created = path.includes(':key')
    ? (await service.ask('/api/keys', { json: { name: asked.name } })).body
    : undefined;
  const { method, body, chunked } = asked;
  return {
    url: service.url + path.replace(':key', created?.id),
    method,
    headers: { ...asked.headers, 'x-session-api-key': key ?? service.key },
    body,
    chunked,
  };
}

function check(asked: Case, { status, text }: Received): void {
  assert.equal(status, asked.status, text);
  const isEmpty = asked.method === 'HEAD' || asked.method === 'OPTIONS';
  const body = isEmpty ? text : JSON.parse(text);
  if (isEmpty) assert.equal(body, '');
  else if (asked.code === undefined) assert.ok(typeof body === 'object' && !('error' in body), text);
  else {
    assert.deepEqual(Object.keys(body), ['error', 'code', 'request_id', 'details']);
    assert.equal(body.code, asked.code);
  }
}

/** Declares the tests of one client. */
export function testClient(client: Client): void {
  describe(`requests of ${client.name}`, { skip: client.missing ?? false }, () => {
    it('are answered, whatever their method and their body', async (t) => {
      const service = await startService({ env: { PARLEY_LOG_LEVEL: 'warn' } }, t);
      await service.ask('/api/secrets', { json: { name: 'NAME', value: 'v' } });
      const all = await Promise.all(
        cases.map(async (asked) => ({ asked, sent: await toSent(service, asked) })),
      );
      const possible = all.filter(({ sent }) => client.can(sent));
      assert.ok(possible.length > cases.length / 2, `${possible.length}`);
      const received = await client.sendAll(possible.map(({ sent }) => sent));
      assert.equal(received.length, possible.length);
      for (const [i, { asked }] of possible.entries())
        await t.test(`${asked.method} ${asked.path} ${asked.name}, ${asked.status}`, () => {
          check(asked, received[i] ?? { status: 0, text: 'no answer' });
        });
      assert.equal((await service.ask('/ready')).status, 200);
      assert.doesNotMatch(service.logs(), /"level":"(error|fatal)"/);
    });
  });
}
