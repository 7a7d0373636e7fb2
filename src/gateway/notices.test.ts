import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { post, withProvider } from '../../test/support/gateway.ts';
import { createNotices } from './notices.ts';

describe('notices about the model', () => {
  it('are repeated for each message, 402 each time', async (t) => {
    const { ask, notices, beginTurn } = await withProvider(t, (request, response) => {
      request.resume();
      response.writeHead(401).end('{}');
    });
    for (let message = 1; message <= 3; message++) {
      beginTurn();
      assert.equal((await ask()).status, 402);
      assert.equal((await ask()).status, 402);
      assert.equal(notices.length, message);
    }
  });

  it('appear once per message, even if two faults alternate', async (t) => {
    const { url, ask, notices } = await withProvider(t, () => {});
    for (let i = 0; i < 5; i++) {
      assert.equal((await post(url, '/anthropic/v1/messages', {})).status, 402);
      assert.equal((await ask({}, { messages: [{ content: [{ file_id: 'x' }] }] })).status, 400);
    }
    assert.equal(notices.length, 2);
  });

  it('are limited per message, and the last one says that there are more', () => {
    const told: string[] = [];
    const notices = createNotices((sentence) => told.push(sentence));
    for (let i = 0; i < 1_000; i++) notices.report(`fault ${i}`, true);
    assert.equal(told.length, 21);
    assert.match(told.at(-1) ?? '', /not shown until your next message/);
    notices.beginTurn();
    notices.report('fault 0', true);
    assert.equal(told.at(-1), 'fault 0');
  });

  it('appear once per run if they do not change', () => {
    const told: string[] = [];
    const notices = createNotices((sentence) => told.push(sentence));
    for (let i = 0; i < 3; i++) {
      notices.beginTurn();
      notices.reportOnce('It is free.');
    }
    assert.deepEqual(told, ['It is free.']);
  });
});
