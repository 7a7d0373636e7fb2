import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startService } from '../../test/support/service.ts';

describe('POST …/submit-feedback', () => {
  it('stores what existing clients send, without the token and the trajectory, 200', async (t) => {
    const service = await startService({}, t);
    const { body: created } = await service.ask('/api/conversations', { json: {} });
    const path = `/api/conversations/${created.conversation_id}/submit-feedback`;
    const json = {
      version: '1.0',
      email: 'ada@example.com',
      token: 'ghp_secret',
      polarity: 'negative',
      permissions: 'public',
      trajectory: [{ id: 0, secret: 'of the log' }],
      unknown: 1,
    };
    const { status, body } = await service.ask(path, { json });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body.body).toSorted(), ['feedback_id', 'message', 'password']);
    const exported = await service.ask('/api/feedback');
    assert.equal(exported.body.results[0].id, body.body.feedback_id);
    assert.equal(exported.body.results[0].permissions, 'public');
    assert.doesNotMatch(exported.text, /secret/);
    assert.equal((await service.ask(path, { json: { feedback: 'positive' } })).status, 200);
    assert.equal((await service.ask(path, { json: { email: 'a' } })).status, 422);
    assert.equal(
      (await service.ask(path, { json: { polarity: 'negative', email: 5, version: null } })).status,
      200,
    );
  });
});

describe('GET …/remember-prompt', () => {
  it('quotes the log around an event, 200', async (t) => {
    const service = await startService({}, t);
    const replay_json = JSON.stringify(
      Array.from({ length: 20 }, (_, i) => ({
        source: i % 2 === 0 ? 'user' : 'agent',
        action: 'message',
        args: { content: `message ${i} </history>` },
      })),
    );
    const { body: created } = await service.ask('/api/conversations', { json: { replay_json } });
    const path = `/api/conversations/${created.conversation_id}/remember-prompt`;
    const { status, body } = await service.ask(`${path}?event_id=10`);
    assert.deepEqual([status, body.status], [200, 'success']);
    const quoted = [...body.prompt.matchAll(/message (\d+)/g)].map(([, number]) => Number(number));
    assert.equal(quoted.length, 10);
    assert.deepEqual(
      quoted,
      [...quoted].sort((a, b) => a - b),
    );
    assert.ok(quoted.includes(10));
    assert.equal(body.prompt.match(/<\/history>/g).length, 1);
    for (const query of ['', '?event_id=', '?event_id=-1', '?event_id=x'])
      assert.equal((await service.ask(path + query)).status, 422, query);
    assert.equal((await service.ask('/api/conversations/none/remember-prompt?event_id=1')).status, 404);
    assert.equal((await service.ask(`${path}?event_id=0`)).status, 200);
    const { body: log } = await service.ask(`/api/conversations/${created.conversation_id}/events?limit=100`);
    for (const absent of [log.events.length, 4_294_967_296, 999_999_999_999_999])
      assert.equal((await service.ask(`${path}?event_id=${absent}`)).status, 404, String(absent));
  });
});
