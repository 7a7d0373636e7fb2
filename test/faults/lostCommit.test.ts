import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { storedTitles } from '../support/inspect.ts';
import { startPostgresProxy } from '../support/postgresProxy.ts';
import { cutCommitOf } from '../support/postgresThroughProxy.ts';
import { createSite, type Service } from '../support/process.ts';
import type { Answer } from '../support/service.ts';

async function serve(t: Parameters<typeof createSite>[1]) {
  const site = await createSite('postgres', t);
  const proxy = await startPostgresProxy(site.storage.databaseUrl ?? '', t);
  const service = await site.serve({ env: { DATABASE_URL: proxy.url } });
  return { site, proxy, service };
}

function assertUnknown({ status, headers, body, text }: Answer): void {
  assert.deepEqual([status, body.code], [503, 'outcome_unknown'], text);
  // A client that repeats whatever names a time would do it twice.
  assert.equal(headers.get('retry-after'), null);
}

async function messagesOf(service: Service, id: string): Promise<string[]> {
  const { body } = await service.ask(`/api/conversations/${id}/events`);
  return body.events
    .filter(
      ({ source, action }: { source: string; action?: string }) => source === 'user' && action === 'message',
    )
    .map(({ args }: { args: { content: string } }) => args.content);
}

describe('an answer to COMMIT that is lost', { timeout: 240_000, concurrency: 2 }, () => {
  it('of a creation is found out: 200, and there is one conversation', async (t) => {
    const { site, proxy, service } = await serve(t);
    for (const json of [
      { initial_user_msg: 'with an id', conversation_id: 'mine' },
      { initial_user_msg: 'without one' },
    ]) {
      const { rule, seen } = cutCommitOf(/insert into conversations/);
      proxy.rule(rule);
      const { status, body, text } = await service.ask('/api/conversations', { json });
      assert.ok(seen());
      assert.equal(status, 200, text);
      assert.equal(body.conversation_status, 'STARTING');
    }
    assert.deepEqual(await storedTitles(site.storage), ['with an id', 'without one']);
  });

  it('of settings and secrets is 503 outcome_unknown, and what was stored is shown at once', async (t) => {
    const { proxy, service } = await serve(t);
    await service.ask('/api/settings', { json: { llm_model: 'old' } });
    assert.equal((await service.ask('/api/settings')).body.llm_model, 'old');
    const settings = cutCommitOf(/update "settings"/);
    proxy.rule(settings.rule);
    assertUnknown(await service.ask('/api/settings', { json: { llm_model: 'new' } }));
    assert.ok(settings.seen());
    assert.equal((await service.ask('/api/settings')).body.llm_model, 'new');

    const secret = { name: 'TOKEN', value: 'a-value' };
    proxy.rule(cutCommitOf(/insert into "secrets"/).rule);
    assertUnknown(await service.ask('/api/secrets', { json: secret }));
    const again = await service.ask('/api/secrets', { json: secret });
    assert.deepEqual([again.status, again.body.code], [400, 'secret_exists']);
  });

  it('of a message is 503 outcome_unknown, and the message is in the log once', async (t) => {
    const { proxy, service } = await serve(t);
    const json = { initial_user_msg: 'first', conversation_id: 'c' };
    assert.equal((await service.ask('/api/conversations', { json })).status, 200);
    const { rule, seen } = cutCommitOf(/insert into events/);
    proxy.rule(rule);
    assertUnknown(await service.ask('/api/conversations/c/message', { json: { message: 'second' } }));
    assert.ok(seen());
    assert.deepEqual(await messagesOf(service, 'c'), ['first', 'second']);
  });
});
