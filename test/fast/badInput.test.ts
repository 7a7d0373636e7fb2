// What a newcomer gets wrong and an attacker tries: each has its own clear 4xx, and nothing is stored.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { countRows } from '../support/inspect.ts';
import { type Ask, startService, type TestService } from '../support/service.ts';

interface Bad {
  readonly name: string;
  readonly ask: Ask;
  readonly status: number;
  readonly code: string;
  readonly path?: string;
  /** The end of the error's sentence. */
  readonly message?: RegExp;
}

const task = { git_provider: 'github', task_type: 'OPEN_PR', repo: 'a/b', issue_number: 1, title: 't' };
const secretValue = 'value-that-must-not-come-back';

function invalidBody(name: string, json: unknown, path: string): Bad {
  return { name, ask: { json }, status: 422, code: 'invalid', path };
}

function invalidMcp(name: string, mcp_config: unknown, path: string): Bad {
  return invalidBody(`an MCP configuration with ${name}`, { mcp_config }, `mcp_config${path}`);
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

const thousandKeys = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`K${i}`, secretValue]));
const json = { 'content-type': 'application/json' };

const bad: readonly Bad[] = [
  { name: 'a wrong key', ask: { json: {}, key: secretValue }, status: 401, code: 'unauthorized' },
  { name: 'no key', ask: { json: {}, key: null }, status: 401, code: 'unauthorized' },
  { name: 'an empty key', ask: { json: {}, key: '' }, status: 401, code: 'unauthorized' },
  {
    name: 'a key in another header',
    ask: { json: {}, key: null, headers: { 'x-api-key': secretValue } },
    status: 401,
    code: 'unauthorized',
  },
  { name: 'a very long key', ask: { json: {}, key: 'x'.repeat(9_000) }, status: 401, code: 'unauthorized' },
  invalidBody('null for conversation_id', { conversation_id: null }, 'conversation_id'),
  invalidBody('an empty conversation_id', { conversation_id: '' }, 'conversation_id'),
  invalidBody('the id ..', { conversation_id: '..' }, 'conversation_id'),
  invalidBody('an id with a slash', { conversation_id: 'a/b' }, 'conversation_id'),
  invalidBody('an id with a line break at its end', { conversation_id: 'a\n' }, 'conversation_id'),
  invalidBody('an id of 129 characters', { conversation_id: 'x'.repeat(129) }, 'conversation_id'),
  invalidBody('a number for a string', { initial_user_msg: 42 }, 'initial_user_msg'),
  invalidBody('an unknown provider', { git_provider: secretValue }, 'git_provider'),
  invalidBody('an unknown member', { color: secretValue }, 'color'),
  invalidBody('an unknown nested member', { suggested_task: { ...task, x: 1 } }, 'suggested_task.x'),
  invalidBody(
    'a task without a title',
    { suggested_task: { ...task, title: undefined } },
    'suggested_task.title',
  ),
  invalidBody(
    'an unknown task type',
    { suggested_task: { ...task, task_type: 'X' } },
    'suggested_task.task_type',
  ),
  invalidBody(
    'an integer of 1e300',
    { suggested_task: { ...task, issue_number: 1e300 } },
    'suggested_task.issue_number',
  ),
  invalidBody(
    'an integer beyond 2^53',
    { suggested_task: { ...task, issue_number: 2 ** 53 } },
    'suggested_task.issue_number',
  ),
  invalidBody(
    'a fraction for an integer',
    { suggested_task: { ...task, issue_number: 1.5 } },
    'suggested_task.issue_number',
  ),
  invalidBody('a microagent without a repo', { create_microagent: { title: 'x' } }, 'create_microagent.repo'),
  invalidBody('NUL characters', { initial_user_msg: `a${String.fromCharCode(0)}b` }, 'initial_user_msg'),
  {
    ...invalidBody('unpaired surrogates', {}, 'repository'),
    ask: { raw: '{"repository":"\\ud800"}', headers: json },
  },
  invalidBody('a message over 256 KiB', { initial_user_msg: 'é'.repeat(131_073) }, 'initial_user_msg'),
  {
    ...invalidBody('a repository over 1 KiB', { repository: 'x'.repeat(1_025) }, 'repository'),
    message: /must be at most 1024 bytes\.$/,
  },
  {
    ...invalidBody('a repository over 1 KiB of umlauts', { repository: 'é'.repeat(513) }, 'repository'),
    message: /must be at most 1024 bytes\.$/,
  },
  invalidBody('101 images', { image_urls: Array(101).fill('https://a.example/x.png') }, 'image_urls'),
  invalidBody('an image by a hidden scheme', { image_urls: [' java\nscript:alert(1)'] }, 'image_urls[0]'),
  invalidBody('an image by a blob URL', { image_urls: ['x', 'blob:https://a.example/1'] }, 'image_urls[1]'),
  invalidBody('an image of 5 KiB of text', { image_urls: ['x'.repeat(5_120)] }, 'image_urls[0]'),
  invalidBody('an image by file URL', { image_urls: ['file:///etc/passwd'] }, 'image_urls[0]'),
  invalidBody('a data URL that is no image', { image_urls: ['data:text/html,x'] }, 'image_urls[0]'),
  invalidBody('a replay that is not JSON', { replay_json: secretValue }, 'replay_json'),
  invalidBody('a replay without events', { replay_json: '{"x":1}' }, 'replay_json'),
  invalidBody('a replay with a bare string', { replay_json: '["x"]' }, 'replay_json[0]'),
  invalidBody('a replay without action', { replay_json: '[{"source":"user"}]' }, 'replay_json[0]'),
  invalidBody(
    'a replay nested too deeply',
    { replay_json: `[{"action":"x","args":${nested(10_000)}}]` },
    'replay_json[0]',
  ),
  invalidBody('a replay with NUL', { replay_json: '[{"action":"x","content":"\\u0000"}]' }, 'replay_json[0]'),
  invalidBody(
    'a replay with half a surrogate',
    { replay_json: '[{"action":"x","\\ud800":1}]' },
    'replay_json[0]',
  ),
  invalidBody(
    'a replay with a huge integer',
    { replay_json: '[{"action":"x","n":1e300}]' },
    'replay_json[0]',
  ),
  invalidBody(
    'a replay with __proto__',
    { replay_json: '[{"action":"x","__proto__":{"a":1}}]' },
    'replay_json[0]',
  ),
  invalidMcp('an unknown list', { ftp_servers: [] }, '.ftp_servers'),
  invalidMcp('a number as server', { sse_servers: [5] }, '.sse_servers[0]'),
  invalidMcp('a file URL', { sse_servers: ['file:///x'] }, '.sse_servers[0]'),
  invalidMcp('a URL without a host', { shttp_servers: [{ url: 'https://' }] }, '.shttp_servers[0].url'),
  invalidMcp(
    'a password in a URL',
    { sse_servers: [{ url: `https://u:${secretValue}@h.example` }] },
    '.sse_servers[0].url',
  ),
  invalidMcp('an unknown member', { sse_servers: [{ url: 'https://h.example', x: 1 }] }, '.sse_servers[0].x'),
  invalidMcp(
    'a timeout of 0',
    { shttp_servers: [{ url: 'https://h.example', timeout: 0 }] },
    '.shttp_servers[0].timeout',
  ),
  invalidMcp(
    'a timeout on SSE',
    { sse_servers: [{ url: 'https://h.example', timeout: 5 }] },
    '.sse_servers[0].timeout',
  ),
  invalidMcp(
    'a command of two words',
    { stdio_servers: [{ name: 'a', command: 'a b' }] },
    '.stdio_servers[0].command',
  ),
  invalidMcp(
    'a name with a space',
    { stdio_servers: [{ name: 'a b', command: 'a' }] },
    '.stdio_servers[0].name',
  ),
  invalidMcp(
    'an open quote',
    { stdio_servers: [{ name: 'a', command: 'a', args: "'x" }] },
    '.stdio_servers[0].args',
  ),
  invalidMcp(
    'an env without =',
    { stdio_servers: [{ name: 'a', command: 'a', env: secretValue }] },
    '.stdio_servers[0].env',
  ),
  invalidMcp(
    '1,000 env entries',
    { stdio_servers: [{ name: 'a', command: 'a', env: thousandKeys }] },
    '.stdio_servers[0].env',
  ),
  invalidMcp(
    'a number in env',
    { stdio_servers: [{ name: 'a', command: 'a', env: { A: 1 } }] },
    '.stdio_servers[0].env.A',
  ),
  {
    ...invalidMcp(
      'a space in an env name',
      { stdio_servers: [{ name: 'a', command: 'a', env: { 'A B=': '1' } }] },
      '.stdio_servers[0].env.A B=',
    ),
    message: /must have a name of letters, digits and _ that does not begin with a digit\.$/,
  },
  invalidMcp(
    'an env value of 5 KiB as text',
    { stdio_servers: [{ name: 'a', command: 'a', env: `A=${'x'.repeat(5_000)}` }] },
    '.stdio_servers[0].env',
  ),
  invalidMcp(
    'a long word in args',
    { stdio_servers: [{ name: 'a', command: 'a', args: 'x'.repeat(2_000) }] },
    '.stdio_servers[0].args',
  ),
  invalidMcp(
    'a masked key',
    { sse_servers: [{ url: 'https://h.example', api_key: '**********' }] },
    '.sse_servers[0].api_key',
  ),
  invalidMcp('two of a name', { stdio_servers: Array(2).fill({ name: 'a', command: 'a' }) }, ''),
  invalidMcp('51 servers', { sse_servers: Array(51).fill('https://h.example') }, '.sse_servers'),
  invalidMcp(
    '51 servers in two lists',
    { sse_servers: Array(26).fill('https://h.example'), shttp_servers: Array(25).fill('https://h.example') },
    '',
  ),
  invalidBody('1,000 unknown members', thousandKeys, 'K0'),
  { ...invalidBody('__proto__', {}, '__proto__'), ask: { raw: '{"__proto__":{"a":1}}', headers: json } },
  {
    ...invalidBody('constructor', {}, 'constructor'),
    ask: { raw: '{"constructor":{"a":1}}', headers: json },
  },
  {
    ...invalidBody('__proto__ in env', {}, 'mcp_config.stdio_servers[0].env.__proto__'),
    ask: {
      raw: '{"mcp_config":{"stdio_servers":[{"name":"a","command":"a","env":{"__proto__":"x"}}]}}',
      headers: json,
    },
  },
  { ...invalidBody('a list as body', [], 'body'), ask: { raw: '[]', headers: json } },
  { ...invalidBody('null as body', null, 'body'), ask: { raw: 'null', headers: json } },
  {
    ...invalidBody('10,000 levels of nesting', {}, 'mcp_config'),
    ask: { raw: `{"mcp_config":${nested(10_000)}}`, headers: json },
  },
  {
    name: 'broken JSON',
    ask: { raw: `{"a": ${secretValue}`, headers: json },
    status: 400,
    code: 'malformed_json',
  },
  {
    name: 'bytes that are not UTF-8',
    ask: { raw: new Uint8Array([0x22, 0xff, 0x22]), headers: json },
    status: 400,
    code: 'malformed_json',
  },
  { name: 'a byte order mark', ask: { raw: '\ufeff{}', headers: json }, status: 400, code: 'malformed_json' },
  {
    name: 'a body of 17 MiB',
    ask: { raw: 'x'.repeat(17 * 1_024 * 1_024), headers: json },
    status: 413,
    code: 'body_too_large',
  },
  {
    name: 'form data',
    ask: { raw: 'initial_user_msg=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'JSON without a content type',
    ask: { raw: new Uint8Array([0x7b, 0x7d]) },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'JSON in Latin-1',
    ask: { raw: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'a compressed body',
    ask: { raw: '{}', headers: { ...json, 'content-encoding': 'gzip' } },
    status: 415,
    code: 'unsupported_media_type',
  },
];

const million = 1_000_000;
const crowds: readonly [string, string][] = [
  ['a list of millions', `{"image_urls":[${'1,'.repeat(7 * million)}1]}`],
  ['a million unknown members', `{${Array.from({ length: million }, (_, i) => `"k${i}":1`).join()}}`],
  ['millions of levels', '['.repeat(8 * million)],
  [
    'a million env entries',
    `{"mcp_config":{"stdio_servers":[{"name":"a","command":"a","env":{${Array.from({ length: million }, (_, i) => `"K${i}":""`).join()}}}]}}`,
  ],
];

describe('a crowded body', () => {
  let service: TestService;
  before(async () => {
    service = await startService({});
  });
  after(() => service.stop());

  for (const [name, raw] of crowds) {
    it(`with ${name} is refused before it is parsed, 422`, async () => {
      const { status, body } = await service.ask('/api/conversations', {
        method: 'POST',
        raw,
        headers: { 'content-type': 'application/json' },
      });
      assert.deepEqual([status, body.details[0].path], [422, 'body']);
      assert.match(body.error, /at most/);
    });
  }
});

for (const kind of databaseKinds) {
  describe(`bad input to POST /api/conversations on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(async () => {
      const stored = await countRows(service.storage, 'conversations');
      await service.stop();
      assert.equal(stored, 0, 'nothing is stored by any of these');
    });

    for (const { name, ask, status, code, path, message } of bad) {
      it(`answers ${name} with ${status} ${code}`, async () => {
        const answer = await service.ask('/api/conversations', { method: 'POST', ...ask });
        assert.deepEqual([answer.status, answer.body.code], [status, code]);
        assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
        assert.deepEqual(Object.keys(answer.body), ['error', 'code', 'request_id', 'details']);
        assert.ok(!answer.text.includes(secretValue), 'the value does not come back');
        if (path !== undefined) {
          assert.equal(answer.body.details[0].path, path);
          assert.ok(answer.body.error.startsWith(path), answer.body.error);
          assert.ok(answer.body.details.length <= 20);
          if (message !== undefined) assert.match(answer.body.error, message);
        }
      });
    }
  });
}

describe('paths and methods', () => {
  let service: TestService;
  before(async () => {
    service = await startService({});
  });
  after(() => service.stop());

  it('answers an unknown path with 404', async () => {
    for (const path of ['/nonsense', '/api', '/api/Settings', '/api/conversations/x/y/z']) {
      const { status, body } = await service.ask(path);
      assert.deepEqual([status, body.code], [404, 'not_found'], path);
    }
  });

  it('answers a wrong method with 405 and names the right ones', async () => {
    const wrong = [
      ['DELETE', '/api/settings', 'GET, HEAD, POST, PATCH, OPTIONS'],
      ['PUT', '/api/conversations', 'POST, GET, HEAD, OPTIONS'],
      ['POST', '/api/keys/abc', 'DELETE, OPTIONS'],
      ['PROPFIND', '/api/settings', 'GET, HEAD, POST, PATCH, OPTIONS'],
      ['POST', '/alive/', 'GET, HEAD, OPTIONS'],
    ] as const;
    for (const [method, path, allow] of wrong) {
      const answer = await service.ask(path, { method });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, allow], `${method} ${path}`);
      assert.equal(answer.body.code, 'method_not_allowed');
    }
  });

  it('answers OPTIONS with 204 and the methods of the path, without a key, 404 where there is nothing', async () => {
    const paths = [
      ['/api/conversations', 'POST, GET, HEAD, OPTIONS'],
      ['/api/conversations/', 'POST, GET, HEAD, OPTIONS'],
      ['/api/keys/abc?x=1', 'DELETE, OPTIONS'],
      ['/', 'GET, HEAD, OPTIONS'],
    ] as const;
    for (const [path, allow] of paths) {
      const answer = await service.ask(path, { method: 'OPTIONS', key: null });
      assert.deepEqual([answer.status, answer.text, answer.headers.get('allow')], [204, '', allow], path);
      assert.ok(answer.headers.get('x-request-id'));
    }
    assert.equal((await service.ask('/nowhere', { method: 'OPTIONS' })).status, 404);
  });

  it('answers a path with a slash at its end as it does without', async () => {
    const key = (await service.ask('/api/keys/', { json: { name: 'x' } })).body;
    assert.equal((await service.ask(`/api/keys/${key.id}/`, { method: 'DELETE' })).status, 200);
    for (const path of ['/api/settings', '/api/conversations', '/alive', '/docs', '/openapi.json']) {
      const [plain, slashed] = await Promise.all([service.ask(path), service.ask(`${path}/`)]);
      assert.deepEqual([slashed.status, slashed.text], [plain.status, plain.text], path);
      assert.equal(plain.status, 200, path);
    }
    assert.equal((await service.ask('/api/settings//')).status, 404);
  });

  it('answers HEAD where it answers GET, with the same headers and no body', async () => {
    for (const path of ['/api/settings', '/api/conversations', '/alive', '/ready', '/docs', '/']) {
      const [get, head] = await Promise.all([service.ask(path), service.ask(path, { method: 'HEAD' })]);
      assert.deepEqual([head.status, head.text], [get.status, ''], path);
      for (const name of ['content-type', 'content-length', 'etag'])
        assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
    }
  });

  it('offers Bearer in a 401 only where the route takes it', async () => {
    const challenge = async (path: string, method = 'GET') => {
      const { status, headers } = await service.ask(path, { method, key: null });
      assert.equal(status, 401, path);
      return headers.get('www-authenticate');
    };
    const session = 'X-Session-API-Key realm="parley"';
    assert.equal(await challenge('/api/settings'), `${session}, Bearer realm="parley"`);
    for (const path of ['/api/conversations', '/api/keys']) assert.equal(await challenge(path), session);
    assert.equal(await challenge('/api/settings', 'POST'), session);
  });

  it('answers before it reads a body that nobody will look at', async () => {
    const sent = { method: 'POST', raw: 'x=1', headers: { 'content-type': 'text/plain' }, key: null };
    assert.equal((await service.ask('/nowhere', sent)).status, 404);
    assert.equal((await service.ask('/alive', sent)).status, 405);
    assert.equal((await service.ask('/alive', { method: 'QUERY', key: null })).status, 405);
    assert.equal((await service.ask('/nowhere', { method: 'QUERY', key: null })).status, 404);
  });

  it('answers an id of 600 characters with 404', async () => {
    const { status, headers } = await service.ask(`/api/keys/${'a'.repeat(600)}`, { method: 'DELETE' });
    assert.equal(status, 404);
    assert.ok(headers.get('x-request-id') && headers.get('x-content-type-options'));
  });

  it('answers a URL that cannot be decoded with 400', async () => {
    const { status, body } = await service.ask('/api/keys/%ff', { method: 'DELETE' });
    assert.deepEqual([status, body.code], [400, 'malformed_request']);
  });
});
