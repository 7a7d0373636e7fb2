import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startService } from '../../test/support/service.ts';
import { createdExample, createExamples } from '../conversations/create/examples.ts';
import { ConversationResponse, CreateConversation, SuggestedTask } from '../conversations/create/schema.ts';
import { createdKeyExample, newKeyExample } from '../keys/examples.ts';
import { CreatedKey, NewKey } from '../keys/schema.ts';
import {
  branchExample,
  gitUserExample,
  microagentContentExample,
  microagentExample,
  repositoryExample,
  taskExample,
} from '../repositories/examples.ts';
import { Branch, GitUser, Microagent, MicroagentContent, Repository } from '../repositories/schema.ts';
import { fullSettingsExample, reducedSettingsExample } from '../settings/examples.ts';
import { FullSettings, ReducedSettings } from '../settings/schema.ts';
import { compileCheck } from '../validation/validation.ts';

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly operationId: string;
  readonly security: readonly unknown[];
  readonly responses: Readonly<Record<string, unknown>>;
}

describe('GET /openapi.json', () => {
  it('is the same as openapi.json in the repository; npm run openapi writes it anew', async (t) => {
    const service = await startService({}, t);
    const { text, body } = await service.ask('/openapi.json', { key: null });
    assert.equal(text, readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
    assert.equal(body.openapi, '3.1.0');
    for (const path of ['/api/settings', '/api/conversations', '/api/keys/{id}'])
      assert.ok(path in body.paths);
  });

  it('refers only to schemas that it holds', async (t) => {
    const service = await startService({}, t);
    const { text, body } = await service.ask('/openapi.json');
    const names = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = '']) => name);
    assert.ok(names.length > 10);
    for (const name of names) assert.ok(name in body.components.schemas, name);
  });

  it('has for every operation what linters and generated clients ask for', async (t) => {
    const service = await startService({}, t);
    const { body } = await service.ask('/openapi.json');
    const tags = body.tags.map(({ name }: { name: string }) => name);
    const ids = new Set<string>();
    for (const [path, item] of Object.entries<Record<string, Operation>>(body.paths))
      for (const [method, operation] of Object.entries(item)) {
        const statuses = Object.keys(operation.responses);
        const where = `${method} ${path}`;
        assert.ok(operation.summary !== '' && (operation.description ?? '') !== '', where);
        assert.ok(operation.tags.length === 1 && tags.includes(operation.tags[0]), where);
        assert.ok(statuses.some((status) => /^2/.test(status)) && statuses.includes('500'), where);
        assert.equal('401' in operation.responses, operation.security.length > 0, where);
        assert.ok(operation.operationId !== '' && !ids.has(operation.operationId), where);
        ids.add(operation.operationId);
      }
    assert.ok(ids.size > 50);
    const { get, post } = body.paths['/api/settings'];
    assert.deepEqual(get.security, [{ session_key: [] }, { bearer_token: [] }]);
    assert.equal(post['x-required-scope'], 'settings:write');
    assert.ok(!('/api/reset-settings' in body.paths));
  });

  it('tells where the service is, what streams and archives are sent as, and which fields cannot be null', async (t) => {
    const service = await startService({}, t);
    const { body } = await service.ask('/openapi.json');
    assert.deepEqual(
      body.servers.map(({ url }: { url: string }) => url),
      ['/'],
    );
    const mediaOf = (path: string) => Object.keys(body.paths[path].get.responses['200'].content);
    for (const path of ['/api/events/stream', '/api/conversations/{id}/events/stream'])
      assert.deepEqual(mediaOf(path), ['text/event-stream']);
    assert.deepEqual(mediaOf('/api/conversations/{id}/zip-directory'), ['application/zip']);
    const { CreateConversation: request, ConversationResponse: answer } = body.components.schemas;
    assert.equal(request.properties.conversation_id.type, 'string');
    assert.equal(answer.properties.conversation_id.type, 'string');
    const { '429': limited } = body.paths['/api/conversations'].post.responses;
    assert.match(limited.description, /`rate_limited`.*`too_many_waiting`/);
    const confirm = body.paths['/api/conversations/{id}/confirm'].post.responses;
    assert.match(confirm['409'].description, /`nothing_to_confirm`/);
  });

  it('has examples that pass their own schemas', () => {
    const check = (schema: Parameters<typeof compileCheck>[0], value: unknown) =>
      assert.equal(compileCheck(schema)(value), undefined);
    for (const example of Object.values(createExamples)) check(CreateConversation, example);
    check(ConversationResponse, createdExample);
    check(NewKey, newKeyExample);
    check(CreatedKey, createdKeyExample);
    check(FullSettings, fullSettingsExample);
    check(ReducedSettings, reducedSettingsExample);
    check(GitUser, gitUserExample);
    check(Repository, repositoryExample);
    check(Branch, branchExample);
    check(SuggestedTask, taskExample);
    check(Microagent, microagentExample);
    check(MicroagentContent, microagentContentExample);
  });
});
