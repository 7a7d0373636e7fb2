// Requests byte by byte, as good clients, old ones and attackers send them: each is answered, and nothing hangs.
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { openConnection } from '../support/connection.ts';
import { countRows } from '../support/inspect.ts';
import { readAnswers } from '../support/rawAnswers.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const path = '/api/conversations';
let service: TestService;
let host: string;
before(async () => {
  service = await startService({ env: { PARLEY_LOG_LEVEL: 'info' } });
  ({ host } = new URL(service.url));
  const secret = { name: 'NAME', value: 'v' };
  assert.equal((await service.ask('/api/secrets', { json: secret })).status, 201);
});
after(() => service.stop());

async function connect(t: TestContext) {
  const connection = await openConnection(service.url);
  t.after(connection.close);
  return connection;
}

/** Sends it all at once and waits for so many whole answers. */
async function talk(t: TestContext, text: string, count = 1) {
  const connection = await connect(t);
  connection.send(text);
  return until(`${count} answers to ${JSON.stringify(text.slice(0, 80))}`, () => {
    const answers = readAnswers(connection.received());
    return answers.length >= count ? answers : undefined;
  });
}

function post(body: string, more = '', version = '1.1'): string {
  return `POST ${path} HTTP/${version}\r\nHost: ${host}\r\nX-Session-API-Key: ${service.key}\r\n${more}\r\n${body}`;
}

function postJson(body: string, more = '', version = '1.1'): string {
  return post(
    body,
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}`,
    version,
  );
}

const get = () => `GET /alive HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

describe('malformed requests', () => {
  const malformed: Readonly<Record<string, () => string>> = {
    'a line of HTTP/0.9': () => 'GET /alive\r\n\r\n',
    'a line of HTTP/0.9 with the method of HTTP/2': () => 'PRI /x\r\n\r\n',
    'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'the version HTTP/2.0': () => `GET /alive HTTP/2.0\r\nHost: ${host}\r\n\r\n`,
    'the version HTTP/1.2': () => `GET /alive HTTP/1.2\r\nHost: ${host}\r\n\r\n`,
    'an unknown method': () => `NONSENSE /alive HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    'a method of RTSP': () => 'DESCRIBE /x RTSP/1.0\r\n\r\n',
    'no Host': () => 'GET /alive HTTP/1.1\r\n\r\n',
    'two Hosts': () => `GET /alive HTTP/1.1\r\nHost: ${host}\r\nhOST: evil.example\r\n\r\n`,
    'a target that is no path': () => `GET alive HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    'a header without a name': () => `GET /alive HTTP/1.1\r\nHost: ${host}\r\n: x\r\n\r\n`,
    'a space before a colon': () => `GET /alive HTTP/1.1\r\nHost : ${host}\r\n\r\n`,
    'a folded header': () => `GET /alive HTTP/1.1\r\nHost: ${host}\r\nX-A: 1\r\n 2\r\n\r\n`,
    'lines that end with LF alone': () => `GET /alive HTTP/1.1\nHost: ${host}\n\n`,
    'a NUL in a header': () => `GET /alive HTTP/1.1\r\nHost: ${host}\r\nX-A: \0\r\n\r\n`,
    'two unlike lengths': () => post('{}', 'Content-Length: 2\r\nContent-Length: 3\r\n'),
    'a negative length': () => post('{}', 'Content-Length: -2\r\n'),
    'a length that is no number': () => post('{}', 'Content-Length: two\r\n'),
    'a length and chunks': () => post('0\r\n\r\n', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'),
    'a transfer encoding that does not end in chunks': () => post('', 'Transfer-Encoding: gzip\r\n'),
    'a chunk without a size': () => post('zz\r\n{}\r\n0\r\n\r\n', 'Transfer-Encoding: chunked\r\n'),
    'a chunk that is longer than it says': () =>
      post('1\r\n{}\r\n0\r\n\r\n', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'),
    CONNECT: () => `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    'a TLS greeting': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  };
  for (const [what, text] of Object.entries(malformed))
    it(`with ${what} get 400 with the common headers, and their connection is closed`, async (t) => {
      const logged = service.logs().length;
      const stored = await countRows(service.storage, 'conversations');
      const connection = await connect(t);
      connection.send(text());
      await until('the connection is closed', connection.closed);
      const [answer, ...more] = readAnswers(connection.received());
      assert.ok(answer !== undefined, connection.received());
      assert.deepEqual(more, []);
      assert.deepEqual([answer.status, answer.body.code], [400, 'malformed_request']);
      assert.deepEqual(Object.keys(answer.body), ['error', 'code', 'request_id', 'details']);
      assert.equal(answer.headers['x-request-id'], answer.body.request_id);
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.match(answer.headers['content-security-policy'] ?? '', /default-src 'none'/);
      assert.equal(service.logs().length, logged, 'nothing is logged');
      assert.equal(await countRows(service.storage, 'conversations'), stored, 'nothing is stored');
    });

  it('never take the place of an answer that somebody waits for', async (t) => {
    const connection = await connect(t);
    connection.send(`${postJson('{"conversation_id":"before-rubbish"}')}rubbish\r\n\r\n`);
    await until('the connection is closed', connection.closed);
    assert.doesNotMatch(connection.received(), /malformed_request/);
  });

  it('leave the service as it was', async (t) => {
    const [answer] = await talk(t, get());
    assert.equal(answer?.status, 200);
  });
});

describe('requests without a body', () => {
  const heads: Readonly<Record<string, string>> = {
    nothing: '',
    'a type': 'Content-Type: application/json\r\n',
    'a type that is none': 'Content-Type: nonsense\r\n',
    'an empty type': 'Content-Type:\r\n',
    'a type of forms': 'Content-Type: application/x-www-form-urlencoded\r\n',
    'a type and a length of 0': 'Content-Type: application/json\r\nContent-Length: 0\r\n',
    'a length of 0': 'Content-Length: 0\r\n',
    'an encoding': 'Content-Encoding: gzip\r\n',
    'an expectation': 'Expect: 100-continue\r\n',
    'an expectation and a type': 'Content-Type: application/json\r\nExpect: 100-continue\r\n',
    'an unknown expectation': 'Expect: the-unexpected\r\n',
    'an upgrade to HTTP/2':
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
    'a trailer': 'Trailer: X-A\r\nTE: trailers\r\n',
    'an If-Match': 'If-None-Match: "x"\r\nContent-Type: text/plain\r\n',
  };
  const chunked: Readonly<Record<string, string>> = {
    'no chunks': 'Transfer-Encoding: chunked\r\n',
    'no chunks and a type': 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    'no chunks and a type that is none': 'Content-Type: nonsense\r\nTransfer-Encoding: chunked\r\n',
    'no chunks and an expectation': 'Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n',
  };
  const forms = [
    ...Object.entries(heads).map(([what, head]) => [what, head, ''] as const),
    ...Object.entries(chunked).map(([what, head]) => [what, head, '0\r\n\r\n'] as const),
  ];

  for (const [what, head, body] of forms)
    it(`with ${what} are answered, whatever the method`, async (t) => {
      const { body: key } = await service.ask('/api/keys', { json: { name: 'to delete' } });
      const expected = [
        ['GET', '/api/settings', 200],
        ['HEAD', '/api/settings', 200],
        ['OPTIONS', '/api/settings', 204],
        ['POST', path, 200],
        ['PATCH', '/api/settings', 200],
        ['PUT', '/api/secrets/NAME', 200],
        ['DELETE', `/api/keys/${key.id}`, 200],
        ['DELETE', '/api/settings', 405],
        ['POST', '/nowhere', 404],
      ] as const;
      for (const [method, target, status] of expected) {
        const start = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Session-API-Key: ${service.key}\r\n`;
        const connection = await connect(t);
        connection.send(`${start}${head}\r\n${body}`);
        const [answer] = await until(`${method} ${target} with ${what}`, () => {
          const answers = readAnswers(connection.received(), method);
          return answers.length > 0 ? answers : undefined;
        });
        assert.equal(answer?.status, status, `${method} ${target}: ${JSON.stringify(answer?.body)}`);
        assert.ok(answer?.headers['x-request-id']);
      }
      const { body: keys } = await service.ask('/api/keys');
      const record = keys.keys.find(({ id }: { id: string }) => id === key.id);
      assert.ok(record.revoked_at !== null, 'the key is revoked');
    });
});

describe('requests in pieces and in a row', () => {
  it('are answered however they are split', async (t) => {
    const text = postJson('{"initial_user_msg":"Grüße"}');
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 7, 64]) {
      const connection = await connect(t);
      for (let at = 0; at < bytes.length; at += size) {
        connection.send(bytes.subarray(at, at + size));
        await new Promise((done) => setImmediate(done));
      }
      const [answer] = await until('an answer', () => {
        const answers = readAnswers(connection.received());
        return answers.length > 0 ? answers : undefined;
      });
      assert.deepEqual([answer?.status, answer?.body.status], [200, 'ok']);
    }
  });

  it('are answered in their order, a faulty one and one without a body among them', async (t) => {
    const texts = [
      postJson('{"conversation_id":"in-a-row-1"}'),
      postJson('{"conversation_id":2}'),
      post('', 'Content-Type: application/json\r\n'),
      get(),
      post('0\r\n\r\n', 'Transfer-Encoding: chunked\r\n'),
      postJson('{"conversation_id":"in-a-row-3"}'),
    ];
    const answers = await talk(t, texts.join(''), texts.length);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 422, 200, 200, 200, 200],
    );
    assert.equal(answers[0]?.body.conversation_id, 'in-a-row-1');
    assert.equal(answers[5]?.body.conversation_id, 'in-a-row-3');
  });

  it('with a body on GET, HEAD and DELETE are answered, and the next one too', async (t) => {
    const body = '{"ignored":true}';
    const more = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const start = (method: string) =>
      `${method} /api/settings HTTP/1.1\r\nHost: ${host}\r\nX-Session-API-Key: ${service.key}\r\n`;
    const answers = await talk(t, `${start('GET')}${more}\r\n${body}${get()}`, 2);
    assert.deepEqual([answers[0]?.status, answers[1]?.status], [200, 200]);
    const others = await talk(t, `${start('DELETE')}${more}\r\n${body}${get()}`, 2);
    assert.deepEqual([others[0]?.status, others[1]?.status], [405, 200]);
  });

  it('in absolute form are answered only for a host that is allowed', async (t) => {
    const ask = async (authority: string) => {
      const [answer] = await talk(t, `GET http://${authority}/alive HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return answer?.status;
    };
    assert.equal(await ask(host), 200);
    assert.equal(await ask('evil.example.com'), 403);
    assert.equal(await ask(`evil@${host}`), 403);
  });

  it('that break off store nothing', async (t) => {
    const count = () => countRows(service.storage, 'conversations');
    const stored = await count();
    const broken = await connect(t);
    const whole = await connect(t);
    const text = postJson('{"initial_user_msg":"in pieces"}');
    broken.send(text.slice(0, -5));
    whole.send(text.slice(0, -5));
    await service.ask('/alive');
    assert.equal(await count(), stored);
    broken.close();
    whole.send(text.slice(-5));
    await until('an answer', () => readAnswers(whole.received()).length > 0);
    assert.equal(await count(), stored + 1);
  });

  it('of a client that wants the connection closed, or that speaks HTTP/1.0, are the last ones', async (t) => {
    for (const text of [postJson('{}', 'Connection: close\r\n'), postJson('{}', '', '1.0')]) {
      const connection = await connect(t);
      connection.send(text);
      await until('the end', connection.closed);
      const [answer] = readAnswers(connection.received());
      assert.deepEqual([answer?.status, answer?.headers['connection']], [200, 'close']);
    }
  });

  it('are asked for their body where they wait for that', async (t) => {
    const body = '{"conversation_id":"expected-1"}';
    const connection = await connect(t);
    connection.send(postJson(body, 'Expect: 100-continue\r\n').slice(0, -body.length));
    await until('the word', () => connection.received().startsWith('HTTP/1.1 100 Continue'));
    connection.send(body);
    await until('an answer', () => connection.received().includes('"expected-1"'));
  });
});
