// Every call of the V0 contract against a running service.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { startService, type TestService } from '../support/service.ts';
import { cloneInto, newConversationFolder } from '../support/workspace.ts';
import { findDifference } from './shape.ts';

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Sent as a form with the field `files`: the content by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly shape?: Parameters<typeof findDifference>[1];
  readonly exact?: unknown;
}

const { calls } = JSON.parse(readFileSync(new URL('contract.json', import.meta.url), 'utf8')) as {
  calls: readonly Call[];
};

/** Sends it as these clients do: a JSON content type on every request, also on those without a body. */
async function send({ url, key }: TestService, { method, path, body, files }: Call, id: string) {
  const form = new FormData();
  for (const [name, content] of Object.entries(files ?? {})) form.append('files', new File([content], name));
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url + path.replace('{id}', id), {
    method,
    headers: {
      'x-session-api-key': key,
      ...(files === undefined ? { 'content-type': 'application/json' } : {}),
    },
    ...(files === undefined ? json : { body: form }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), text };
}

for (const kind of databaseKinds) {
  describe(`the V0 contract on ${kind}`, () => {
    it('holds for every call, in the order of the file', async (t) => {
      const service = await startService({ kind, env: { PARLEY_SANDBOX: 'process' } }, t);
      const { id, folder } = await newConversationFolder(service);
      cloneInto(folder, { 'a.txt': 'one\n' });
      writeFileSync(join(folder, 'a.txt'), 'two\n');
      for (const call of calls) {
        const name = `${call.method} ${call.path}`;
        const { status, body, text } = await send(service, call, id);
        assert.equal(status, call.status, `${name}: ${text}`);
        if ('exact' in call) assert.deepEqual(body, call.exact, name);
        if (call.shape !== undefined) assert.equal(findDifference(body, call.shape), undefined, name);
      }
    });
  });
}

describe('findDifference', () => {
  it('names where a value differs', () => {
    const shape = { a: 'string', b: [{ c: { anyOf: ['number', 'null'] } }] };
    assert.equal(findDifference({ a: '', b: [{ c: 1 }, { c: null }] }, shape), undefined);
    assert.equal(
      findDifference({ a: '', b: [{ c: '' }] }, shape),
      'body.b[0].c is string, not one of number, null',
    );
    assert.equal(findDifference({ a: '' }, shape), 'body.b is missing');
    assert.equal(findDifference({ a: '', b: [], d: 1 }, shape), 'body.d is not in the contract');
    assert.equal(findDifference([], { '*': 'any' }), 'body is no object');
  });
});
