import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openBench, toolNamed } from '../../../../test/support/tools.ts';
import type { PlanEntry } from './plan.ts';
import { createToolbox } from './toolbox.ts';

describe('the toolbox', () => {
  it('has tools with different names, each with the kind that determines its risk', (t) => {
    const { tools, close } = createToolbox({ env: {}, onPlan: () => {} });
    t.after(close);
    assert.deepEqual(Object.fromEntries(tools.map(({ name, kind }) => [name, kind])), {
      bash: 'execute',
      bash_output: 'read',
      bash_stop: 'other',
      read_file: 'read',
      write_file: 'edit',
      edit_file: 'edit',
      search_text: 'search',
      find_files: 'search',
      fetch_page: 'fetch',
      update_plan: 'think',
    });
    for (const { input } of tools) assert.equal((input as { type?: string }).type, 'object');
  });

  it('has titles for people', (t) => {
    const { tools, close } = createToolbox({ env: {}, onPlan: () => {} });
    t.after(close);
    const title = (name: string, input: object) => toolNamed(tools, name).title(input as never);
    assert.equal(title('read_file', { path: 'src/a.ts' }), 'Read src/a.ts');
    assert.equal(title('search_text', { pattern: 'a|b', path: 'src' }), 'Search a|b in src');
    assert.equal(title('bash_stop', { id: 'bg1' }), 'Stop the background command bg1');
    assert.equal(title('fetch_page', { url: 'https://example.com/' }), 'Fetch https://example.com/');
  });
});

describe('update_plan', () => {
  it('sends the plan', async (t) => {
    const plans: (readonly PlanEntry[])[] = [];
    const { tools, close } = createToolbox({ env: {}, onPlan: (entries) => void plans.push(entries) });
    t.after(close);
    const entries = [
      { content: 'look', status: 'completed' },
      { content: 'mend', status: 'in_progress' },
    ];
    const { text } = await openBench(t, tools).run('update_plan', { entries });
    assert.equal(text, 'The plan is shown: 2 entries, 1 not completed.');
    assert.deepEqual(plans, [entries]);
  });

  it('lists the states if one is invalid', (t) => {
    const { tools, close } = createToolbox({ env: {}, onPlan: () => {} });
    t.after(close);
    const fault = toolNamed(tools, 'update_plan').check({ entries: [{ content: 'look', status: 'done' }] });
    assert.equal(fault, 'entries[0].status must be one of pending, in_progress, completed');
  });
});
