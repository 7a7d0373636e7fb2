// Random sequences of POST, PATCH and GET by several users, against a model that is simple enough to be right.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { databaseKinds } from '../support/databases.ts';
import { startService, type TestService } from '../support/service.ts';

const users = 3;
const mask = '**********';
const keptOnNull = ['llm_model', 'llm_base_url', 'user_consents_to_analytics'];
const secrets = ['llm_api_key', 'search_api_key', 'sandbox_api_key'];
const defaults: Record<string, unknown> = {
  enable_default_condenser: true,
  enable_sound_notifications: false,
};

type Body = Record<string, unknown>;
type Model = { values: Map<string, unknown>; secrets: Set<string> };

interface Step {
  readonly user: number;
  readonly method: 'POST' | 'PATCH';
  readonly body: Body;
}

const word = fc.constantFrom('a', 'b', 'ü', ' ', '\\"', "'; --");
const text = fc.oneof(word, fc.constantFrom('', null));
const body: fc.Arbitrary<Body> = fc.record(
  {
    language: text,
    agent: fc.constantFrom('CodeActAgent', 'claude', 'codex', '', null),
    llm_model: text,
    llm_base_url: fc.constantFrom('https://a.example/v1', 'http://b.example', '', null),
    user_consents_to_analytics: fc.constantFrom(true, false, null),
    confirmation_mode: fc.constantFrom(true, false, null),
    max_iterations: fc.constantFrom(1, 100_000, 0, 1.5, null),
    max_budget_per_task: fc.constantFrom(0, 2.5, -1, null),
    enable_default_condenser: fc.constantFrom(true, false, null),
    enable_sound_notifications: fc.constantFrom(true, false),
    llm_api_key: fc.constantFrom('key', mask, '', null),
    search_api_key: fc.constantFrom('key', mask, '', null),
    sandbox_api_key: fc.constantFrom('key', mask, '', null),
    unknown_member: fc.constant(1),
  },
  { requiredKeys: [] },
);
const step: fc.Arbitrary<Step> = fc.record({
  user: fc.nat({ max: users - 1 }),
  method: fc.constantFrom('POST', 'PATCH'),
  body,
});

/** Whether the service must refuse it. */
function isBad({ method, body: sent }: Step): boolean {
  const numbers = [0, 1.5].includes(sent['max_iterations'] as number) || sent['max_budget_per_task'] === -1;
  const nulled = method === 'POST' && sent['enable_default_condenser'] === null;
  return numbers || nulled || (method === 'PATCH' && 'unknown_member' in sent);
}

function apply(model: Model, { method, body: sent }: Step): void {
  for (const [name, value] of Object.entries(sent)) {
    if (name === 'unknown_member') continue;
    if (secrets.includes(name)) {
      if (value === 'key') model.secrets.add(name);
      else if (value === null && method === 'PATCH') model.secrets.delete(name);
    } else if (value === null || value === '') {
      if (value === null && method === 'POST' && keptOnNull.includes(name)) continue;
      model.values.delete(name);
    } else model.values.set(name, value);
  }
}

async function check(service: TestService, key: string, model: Model): Promise<void> {
  const { body: record } = await service.ask('/api/settings', { key });
  for (const name of [
    'language',
    'agent',
    'llm_model',
    'llm_base_url',
    'user_consents_to_analytics',
    'confirmation_mode',
    'max_iterations',
    'max_budget_per_task',
    ...Object.keys(defaults),
  ])
    assert.deepEqual(record[name], model.values.get(name) ?? defaults[name] ?? null, name);
  assert.equal(record.llm_api_key_set, model.secrets.has('llm_api_key'));
  assert.equal(record.search_api_key_set, model.secrets.has('search_api_key'));
  for (const name of secrets) assert.equal(record[name], null);
}

for (const kind of databaseKinds) {
  describe(`settings of several users on ${kind}`, () => {
    it('are what a simple model says, after any sequence of writes', async (t) => {
      const service = await startService({ kind }, t);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          run += 1;
          const names = Array.from({ length: users }, (_, i) => `r${run}-u${i}`);
          const made = await Promise.all(
            names.map((user) => service.ask('/api/keys', { json: { name: 'k', user } })),
          );
          const keys = made.map((answer) => String(answer.body.key));
          const models: Model[] = names.map(() => ({ values: new Map(), secrets: new Set() }));
          for (const one of steps) {
            const key = keys[one.user] ?? '';
            const model = models[one.user] as Model;
            const { status, text: said } = await service.ask('/api/settings', {
              method: one.method,
              json: one.body,
              key,
            });
            assert.equal(status, isBad(one) ? 422 : 200, said);
            if (status === 200) apply(model, one);
            await check(service, key, model);
          }
          for (const [i, model] of models.entries()) await check(service, keys[i] ?? '', model);
        }),
        { numRuns: 40 },
      );
    });
  });
}
