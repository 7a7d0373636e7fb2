// HEAD works where GET does, streams and downloads included.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startService } from '../support/service.ts';

const answerMsMax = 20_000;
const { paths } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const readable = Object.keys(paths).filter((path) => 'get' in paths[path]);

describe('HEAD', () => {
  it('answers as GET does, without a body, on every path of the reference', async (t) => {
    const service = await startService({}, t);
    const { body } = await service.ask('/api/conversations', { json: { initial_user_msg: 'hi' } });
    assert.ok(readable.length > 20);
    for (const path of readable) {
      const url = service.url + path.replace(/\{[^}]*\}/g, body.conversation_id);
      const ask = (method: string) =>
        fetch(url, {
          method,
          headers: { 'x-session-api-key': service.key },
          signal: AbortSignal.timeout(answerMsMax),
        });
      const head = await ask('HEAD');
      assert.equal(await head.text(), '', path);
      const get = await ask('GET');
      // A stream has no end.
      await get.body?.cancel();
      assert.equal(head.status, get.status, path);
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
    }
  });
});
