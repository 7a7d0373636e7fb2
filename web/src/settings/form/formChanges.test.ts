import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changedSince, changesOf } from './formChanges.ts';

describe('the changes of a form', () => {
  const sent = (name: string, typed: string) =>
    (changesOf({ [name]: typed } as object, {}) as Record<string, unknown>)[name];

  it('contain only the fields that differ from the stored ones', () => {
    const stored = { llm_model: 'openai/gpt-5', max_iterations: 7, language: null, agent: 'codex' };
    const draft = { llm_model: 'openai/gpt-5', max_iterations: '8', language: null, agent: null } as object;
    assert.deepEqual(changesOf(draft, stored), { max_iterations: 8, agent: null });
    assert.deepEqual(changesOf({ llm_model: 'null' }, { llm_model: null }), { llm_model: 'null' });
  });

  it('accept a decimal point or comma', () => {
    assert.equal(sent('max_budget_per_task', '0,505'), 0.505);
    assert.equal(sent('max_budget_per_task', ' 12.5 '), 12.5);
    assert.equal(sent('max_budget_per_task', '1500'), 1_500);
    assert.equal(sent('max_iterations', '100000'), 100_000);
  });

  it('leave ambiguous and invalid numbers to the service', () => {
    for (const typed of ['1,500', '1.500', '100.000', '1,000,000', 'much'])
      assert.equal(sent('max_budget_per_task', typed), typed);
    for (const typed of ['100,000', '100.000', '1.5', 'many']) {
      assert.equal(sent('max_iterations', typed), typed);
      assert.equal(sent('remote_runtime_resource_factor', typed), typed);
    }
  });

  it('are empty if a number is typed as it is shown', () => {
    assert.deepEqual(
      changesOf({ max_budget_per_task: '1.234' } as object, { max_budget_per_task: 1.234 }),
      {},
    );
  });
});

describe('fields that were edited after a save began', () => {
  it('are kept, and no others', () => {
    assert.deepEqual(changedSince({ a: '1', b: 'new', c: true }, { a: '1', b: 'old' } as never), {
      b: 'new',
      c: true,
    });
    assert.deepEqual(changedSince({ a: '1' }, { a: '1' }), {});
  });
});
