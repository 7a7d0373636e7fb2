// Throws arbitrary JSON at both operations: never a 5xx, always the one shape of errors.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { CreateConversation } from '../../src/conversations/create/schema.ts';
import { databaseKinds } from '../support/databases.ts';
import { startService, type TestService } from '../support/service.ts';

const runs = 150;
const members = Object.keys(CreateConversation.properties);

const oddText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '..',
    '\u0000',
    '\ud800',
    '__proto__',
    'https://x.example',
    'github',
    '[]',
    '{}',
    'x'.repeat(2_000),
  ),
);
const oddValue = fc.oneof(
  { depthSize: 'small' },
  oddText,
  fc.jsonValue(),
  fc.constantFrom(null, true, 0, -1, 1e300, 2 ** 53, 0.5),
  fc.array(oddText, { maxLength: 3 }),
);

/** Something near a real request: known names with odd values, nested where the real ones nest. */
const nearRequest = fc.dictionary(
  fc.constantFrom(...members, 'unknown'),
  fc.oneof(
    oddValue,
    fc.dictionary(fc.constantFrom('repo', 'title', 'git_provider', 'task_type', 'issue_number'), oddValue),
    fc.dictionary(
      fc.constantFrom('sse_servers', 'stdio_servers', 'shttp_servers'),
      fc.array(
        fc.oneof(
          oddValue,
          fc.dictionary(
            fc.constantFrom('url', 'api_key', 'name', 'command', 'args', 'env', 'timeout'),
            oddValue,
          ),
        ),
        { maxLength: 3 },
      ),
    ),
    fc.jsonValue().map((value) => JSON.stringify(value)),
  ),
  { maxKeys: 5 },
);

for (const kind of databaseKinds) {
  describe(`arbitrary input on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    async function neverFails(path: string, raw: string, headers: Record<string, string>): Promise<void> {
      const { status, body, text } = await service.ask(path, { method: 'POST', raw, headers });
      assert.ok(status < 500, `${status} for ${raw}: ${text}`);
      if (status === 200) assert.deepEqual([body.status, body.conversation_status], ['ok', 'STARTING']);
      else assert.deepEqual(Object.keys(body), ['error', 'code', 'request_id', 'details'], raw);
    }

    it('never makes POST /api/conversations answer 5xx', async () => {
      const body = fc.oneof(nearRequest, fc.jsonValue()).map((value) => JSON.stringify(value));
      await fc.assert(
        fc.asyncProperty(body, (raw) =>
          neverFails('/api/conversations', raw, { 'content-type': 'application/json' }),
        ),
        { numRuns: runs },
      );
    });

    it('never makes POST /api/conversations answer 5xx for text that is no JSON', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.string({ unit: 'binary' }),
          fc.constantFrom('application/json', 'text/plain', 'a/b;;'),
          (raw, type) => neverFails('/api/conversations', raw, { 'content-type': type }),
        ),
        { numRuns: runs / 3 },
      );
    });

    it('never makes GET /api/settings answer 5xx, whatever the headers', async () => {
      const header = fc.string({ unit: 'grapheme-ascii' }).map((text) => text.replace(/[^\x20-\x7e]/g, ''));
      await fc.assert(
        fc.asyncProperty(header, header, header, async (key, authorization, etag) => {
          const headers = { 'x-session-api-key': key, authorization, 'if-none-match': etag };
          const { status } = await service.ask('/api/settings', { key: null, headers });
          // 429 after too many wrong keys.
          assert.ok(status === 401 || status === 429);
          const good = await service.ask('/api/settings', { headers: { 'if-none-match': etag } });
          assert.ok(good.status === 200 || good.status === 304);
        }),
        { numRuns: runs / 3 },
      );
    });
  });
}
