import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  envSecret,
  findServer,
  fromJson,
  hasUnstoredSecrets,
  listServers,
  mask,
  newServer,
  positionOf,
  storableFields,
  toFields,
  toJson,
  toServer,
  withServer,
} from './servers.ts';

const config = {
  sse_servers: [{ url: 'https://a.example.com', api_key: mask }],
  stdio_servers: [
    { name: 'files', command: 'npx', args: ['-e', 'one\ntwo', ''], env: { TOKEN: mask, ROOT: mask } },
  ],
  shttp_servers: [],
};

describe('the fields of an MCP server', () => {
  it('give the stored server if they are not edited', () => {
    for (const placed of listServers(config))
      assert.deepEqual(toServer(toFields(placed), {}, placed.server), placed.server);
  });

  it('give one argument per line if they are edited', () => {
    const [, placed] = listServers(config);
    assert.ok(placed);
    const typed = { ...toFields(placed), args: '-y\n\n files server ' };
    assert.deepEqual(toServer(typed, {}, placed.server), {
      name: 'files',
      command: 'npx',
      args: ['-y', ' files server '],
      env: { TOKEN: mask, ROOT: mask },
    });
  });

  it('give typed secrets, masks for stored ones, and no removed ones', () => {
    const [remote, program] = listServers(config);
    assert.ok(remote && program);
    assert.deepEqual(toServer(toFields(remote), { api_key: 'k' }, remote.server), {
      url: 'https://a.example.com',
      api_key: 'k',
    });
    assert.deepEqual(toServer(toFields(remote), { api_key: '' }, remote.server), {
      url: 'https://a.example.com',
    });
    const { env } = toServer(toFields(program), { [envSecret('ROOT')]: '/' }, program.server) as {
      env: object;
    };
    assert.deepEqual(env, { TOKEN: mask, ROOT: '/' });
  });

  it('leave an invalid timeout to the service', () => {
    const sent = (timeout: string) => toServer({ ...newServer, url: 'https://a', timeout }, {}, undefined);
    assert.deepEqual(sent('soon'), { url: 'https://a', timeout: 'soon' });
    assert.deepEqual(sent(' 20 '), { url: 'https://a', timeout: 20 });
    assert.deepEqual(sent(''), { url: 'https://a' });
  });
});

describe('a listed server', () => {
  const [a, b] = [{ url: 'https://a' }, { url: 'https://b', api_key: mask }];
  const find = (sse_servers: object[], id: string | undefined) =>
    findServer({ ...config, sse_servers } as typeof config, String(id));
  const [, , second] = listServers({ shttp_servers: [a], sse_servers: [a, b] } as never);

  it('is found at its new position when others are added or removed', () => {
    assert.deepEqual([second?.kind, second?.index], ['sse_servers', 1]);
    assert.equal(find([b], second?.id)?.index, 0);
    assert.equal(find([a, { url: 'https://c' }, b], second?.id)?.index, 2);
  });

  it('is not found when it was removed or changed, and would be added at the end', () => {
    assert.equal(find([a], second?.id), undefined);
    assert.equal(find([a, { url: 'https://b' }], second?.id), undefined);
    assert.deepEqual(positionOf({ sse_servers: [a] } as never, String(second?.id), 'sse_servers'), {
      kind: 'sse_servers',
      index: 1,
    });
  });

  it('has another id than an equal server', () => {
    const ids = listServers({ sse_servers: [a, a], shttp_servers: [a] } as never).map(({ id }) => id);
    assert.equal(new Set(ids).size, 3);
  });
});

describe('a change of one server', () => {
  it('contains only its list', () => {
    const added = { url: 'https://b.example.com' };
    assert.deepEqual(withServer(config, { kind: 'sse_servers', index: 1 }, added), {
      sse_servers: [...config.sse_servers, added],
    });
    assert.deepEqual(withServer(config, { kind: 'stdio_servers', index: 0 }, undefined), {
      stdio_servers: [],
    });
    assert.deepEqual(withServer(null, { kind: 'shttp_servers', index: 0 }, added), {
      shttp_servers: [added],
    });
  });
});

describe('MCP servers as JSON', () => {
  it('are the same after a round trip, and missing lists are empty', () => {
    assert.deepEqual(fromJson(toJson(config)), config);
    assert.deepEqual(fromJson('{"sse_servers": ["https://a"]}'), {
      sse_servers: ['https://a'],
      stdio_servers: [],
      shttp_servers: [],
    });
    assert.equal(fromJson('  '), null);
    assert.throws(() => fromJson('{'), SyntaxError);
  });

  it('count as secret if a value is neither masked nor empty, or if the text cannot be parsed', () => {
    assert.equal(hasUnstoredSecrets(toJson(config)), false);
    assert.equal(hasUnstoredSecrets('{"sse_servers": [{"url": "https://a", "api_key": "k"}]}'), true);
    assert.equal(hasUnstoredSecrets('{"stdio_servers": [{"env": {"A": "b"}}]}'), true);
    assert.equal(hasUnstoredSecrets('{"stdio_servers": [{"env": "A=b"}]}'), true);
    assert.equal(
      hasUnstoredSecrets('{"mcpServers": {"a": {"headers": {"Authorization": "Bearer k"}}}}'),
      true,
    );
    assert.equal(hasUnstoredSecrets('{"sse_servers": [{"api_key": "k"'), true);
    for (const server of [
      { url: 'https://a.example/mcp?token=t' },
      { url: 'https://user:pass@a.example/mcp' },
      { url: 'https://a.example/s/3f9c1b7e5d2a4c60/mcp' },
      { headers: { 'x-a': 'b' } },
      { args: ['--api-key', 'b'] },
      { args: ['ghp_0123456789abcdefABCDEF'] },
    ])
      assert.equal(hasUnstoredSecrets(JSON.stringify({ servers: [server] })), true, JSON.stringify(server));
    for (const server of [
      { url: 'https://mcp.example.com/v1/sse', timeout: 5 },
      { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/workspace'] },
    ])
      assert.equal(hasUnstoredSecrets(JSON.stringify({ servers: [server] })), false, JSON.stringify(server));
  });

  it('are not stored from a form that may contain a secret', () => {
    assert.equal(storableFields(newServer), newServer);
    assert.equal(storableFields({ ...newServer, url: 'https://a.example/?k=1' }), undefined);
    assert.equal(storableFields({ ...newServer, args: '-y\n--token=1' }), undefined);
  });
});
