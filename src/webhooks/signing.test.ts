import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createWebhookSecret, signedHeaders } from './signing.ts';

describe('the signature of a message', () => {
  // The example in the documents of Standard Webhooks, made by their reference libraries.
  it('is the one that Standard Webhooks gives for its example', () => {
    const headers = signedHeaders('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampS: 1_614_265_330,
      body: '{"test": 2432232314}',
    });
    assert.deepEqual(headers, {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is made with a secret of 32 random bytes', () => {
    const secrets = new Set(Array.from({ length: 100 }, createWebhookSecret));
    assert.equal(secrets.size, 100);
    for (const secret of secrets)
      assert.equal(Buffer.from(secret.replace('whsec_', ''), 'base64').length, 32);
  });

  it('is accepted by the example in docs/webhooks.md, and only while it is fresh and untouched', async () => {
    const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
    const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
    const { verify } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const secret = createWebhookSecret();
    const message = { id: 'msg_1', timestampS: Math.floor(Date.now() / 1_000), body: '{"type":"ä"}' };
    assert.equal(verify(secret, signedHeaders(secret, message), message.body), true);
    assert.equal(verify(secret, signedHeaders(secret, message), `${message.body} `), false);
    assert.equal(verify(createWebhookSecret(), signedHeaders(secret, message), message.body), false);
    const old = { ...message, timestampS: message.timestampS - 600 };
    assert.equal(verify(secret, signedHeaders(secret, old), old.body), false);
  });
});
