import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { modelKey, type TestGatewayOptions, withProvider } from '../../test/support/gateway.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { errorTextOf } from './providerErrors.ts';

describe('the error text of a provider', () => {
  const cases: readonly [string, string][] = [
    ['{"error":{"message":"No such\\nmodel."}}', 'No such model.'],
    ['[{"error":{"message":"Not here."}}]', 'Not here.'],
    ['{"error":"Pay first."}', 'Pay first.'],
    ['{"detail":"Not Found"}', 'Not Found'],
    ['{"message":"m"}', 'm'],
    ['{"error":{"message":7}}', ''],
    ['{}', ''],
    ['plain  words\r\n', 'plain words'],
    ['<html>no</html>', ''],
    ['x'.repeat(300), `${'x'.repeat(200)}…`],
  ];
  for (const [said, words] of cases)
    it(`are one line of ${JSON.stringify(said.slice(0, 40))}`, () => {
      assert.equal(errorTextOf(said), words);
    });
});

const saying =
  (status: number, said: string, type = 'application/json'): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(said);

describe('an error of a provider', () => {
  for (const [status, sentence] of [
    [401, 'rejected your API key (401)'],
    [402, 'requires payment (402)'],
    [403, 'rejected your API key, or the model for it (403)'],
  ] as const)
    it(`is quoted to the user and the agent, without the key, 402 for its ${status}`, async (t) => {
      const said = JSON.stringify({ error: { message: `Not with\n${modelKey} here.` } });
      const { ask, notices } = await withProvider(t, saying(status, said));
      const answer = await ask();
      const expected = `The model provider ${sentence}: Not with … here.`;
      assert.equal(answer.status, 402);
      assert.equal(((await answer.json()) as { error: { message: string } }).error.message, expected);
      assert.deepEqual(notices, [expected]);
    });
});

/** The same provider at an address that the user named. */
async function atOwnAddress(t: Parameters<typeof listenOnLoopback>[0], answer: RequestListener) {
  const provider = await listenOnLoopback(t, answer);
  const baseUrl = `${provider.url}/wrong?word=hidden`;
  const more: TestGatewayOptions = { model: 'openai/local', baseUrl, allowPrivate: () => true };
  return more;
}

describe('a wrong llm_base_url', () => {
  const cases: readonly [string, number, RequestListener][] = [
    ['a page of the server', 402, saying(200, '<html></html>', 'text/html; charset=utf-8')],
    ['a page that says 404', 402, saying(404, '<html></html>', 'text/html')],
    ['404 in JSON', 404, saying(404, '{"detail":"Not Found"}')],
    ['another place', 402, saying(301, '', 'text/plain')],
  ];
  for (const [name, status, answer] of cases)
    it(`is named where it leads to ${name}, ${status}`, async (t) => {
      const more = await atOwnAddress(t, answer);
      const { ask, notices } = await withProvider(t, () => {}, more);
      assert.equal((await ask()).status, status);
      assert.match(notices.at(-1) ?? '', /llm_base_url in your settings: .* https:\/\/host\/v1\./);
    });

  it("is not named where the address is not the user's own", async (t) => {
    const { ask, notices } = await withProvider(t, saying(404, '{"error":{"message":"No such model."}}'));
    assert.equal((await ask()).status, 404);
    assert.deepEqual(notices, ['The model provider rejected a request (404).']);
  });

  it('is asked at a private address where the operator allows its host, 402 otherwise', async (t) => {
    for (const isListed of [true, false]) {
      const { url } = await listenOnLoopback(t, saying(404, '{"error":{"message":"No such model."}}'));
      const port = Number(new URL(url).port) + (isListed ? 0 : 1);
      const more = {
        model: 'openai/local',
        baseUrl: `${url}/v1`,
        allowPrivate: () => [{ range: '127.0.0.0/8', port }],
      };
      const { ask } = await withProvider(t, () => {}, more);
      assert.equal((await ask()).status, isListed ? 404 : 402);
    }
  });

  for (const allowed of [true, false])
    it(`that cannot be reached is told of by its host and port alone, 402, ${allowed ? 'allowed' : 'or not'}`, async (t) => {
      const baseUrl = 'http://user:pass@127.0.0.1:9/v1?word=hidden';
      const more = { model: 'openai/local', baseUrl, allowPrivate: () => allowed };
      const times = { firstPauseMs: 1, pauseMsMax: 1 };
      const { ask, notices } = await withProvider(t, () => {}, { ...more, times });
      const answer = await ask();
      assert.equal(answer.status, 402);
      const told = `${await answer.text()} ${notices.join()}`;
      assert.match(told, /The model provider at 127\.0\.0\.1:9 cannot be reached: /);
      assert.ok(!/hidden|pass|v1/.test(told), told);
    });
});
