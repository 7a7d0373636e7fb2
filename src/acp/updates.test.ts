import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import fc from 'fast-check';
import type { ParleyEvent, PartialEvent } from '../client/parley.ts';
import { decodeEvent } from '../client/parley.ts';
import { pathsOf } from './clientFolders.ts';
import { createUpdates } from './updates.ts';

const create = (options: { hasNotices?: boolean; hasTerminals?: boolean } = {}) =>
  createUpdates({
    paths: pathsOf('/home/me/project'),
    hasNotices: false,
    hasTerminals: false,
    ...options,
  });

function event(fields: object): ParleyEvent {
  return decodeEvent({ id: 7, timestamp: '2026-01-01T00:00:00Z', source: 'agent', message: '', ...fields });
}

const message = (text: string, partial?: { of: string; to: number }) =>
  event({ action: 'message', message: text, args: { content: text }, ...(partial && { partial }) });

const partial = (from: number, text: string): PartialEvent => ({
  type: 'partial',
  of: 'm1',
  kind: 'message',
  from,
  text,
});

describe('updates of an ACP session', () => {
  it('have the text of a message once, however it was sent before', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 40 }),
        fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 12 }),
        fc.array(fc.nat(40), { maxLength: 4 }),
        (whole, pieces, ends) => {
          const updates = create();
          let [known, logged, shown] = [0, 0, ''];
          const add = (more: readonly SessionUpdate[]) => {
            for (const update of more) shown += (update as { content: { text: string } }).content.text;
          };
          for (const [i, [from, length]] of pieces.entries()) {
            // A reader never has a gap: a piece begins at most where the text ends that it has.
            const start = Math.min(from, known);
            const end = Math.min(whole.length, start + length);
            add(updates.partial(partial(start, whole.slice(start, end))));
            known = Math.max(known, end);
            const to = Math.min(ends[i] ?? 0, whole.length);
            if (to <= logged) continue;
            add(updates.event(message(whole.slice(logged, to), { of: 'm1', to })));
            [logged, known] = [to, Math.max(known, to)];
          }
          add(updates.event(message(whole.slice(logged), { of: 'm1', to: whole.length })));
          assert.equal(shown, whole);
        },
      ),
    );
  });

  it('have the output of a command while it runs, and its end', () => {
    const updates = create();
    const [call] = updates.event(
      event({ action: 'run', tool_call_id: 'c1', args: { command: 'npm test', thought: '' } }),
    );
    assert.ok(call?.sessionUpdate === 'tool_call');
    assert.deepEqual([call.toolCallId, call.title, call.kind], ['c1', 'npm test', 'execute']);
    updates.partial({ type: 'partial', of: 'c1', kind: 'output', from: 0, text: 'one\n' });
    const [live] = updates.partial({ type: 'partial', of: 'c1', kind: 'output', from: 4, text: 'two\n' });
    assert.ok(live?.sessionUpdate === 'tool_call_update');
    assert.deepEqual(live.content, [{ type: 'content', content: { type: 'text', text: 'one\ntwo\n' } }]);
    const extras = { command: 'npm test', metadata: { exit_code: 1 }, outcome: 'failed' };
    const [end] = updates.event(
      event({ observation: 'run', tool_call_id: 'c1', cause: 6, content: 'one\ntwo\nend', extras }),
    );
    assert.ok(end?.sessionUpdate === 'tool_call_update');
    assert.equal(end.status, 'failed');
    assert.deepEqual(end.rawOutput, { output: 'one\ntwo\nend', exit_code: 1 });
  });

  it('have the output of a command only after the command itself', () => {
    const updates = create();
    const output = { type: 'partial', of: 'c1', kind: 'output', from: 0, text: 'one\n' } as const;
    assert.deepEqual(updates.partial(output), []);
    const shown = updates.event(
      event({ action: 'run', tool_call_id: 'c1', args: { command: 'npm test', thought: '' } }),
    );
    assert.deepEqual(
      shown.map(({ sessionUpdate }) => sessionUpdate),
      ['tool_call', 'tool_call_update'],
    );
  });

  it('have the output of a command in pieces for clients with terminals', () => {
    const updates = create({ hasTerminals: true });
    const [call] = updates.event(
      event({ action: 'run', tool_call_id: 'c1', args: { command: 'npm test', thought: '' } }),
    );
    assert.ok(call?.sessionUpdate === 'tool_call');
    assert.deepEqual(call.content, [{ type: 'terminal', terminalId: 'c1' }]);
    assert.deepEqual(call._meta, { terminal_info: { terminal_id: 'c1' } });
    const output = (from: number, text: string) =>
      updates.partial({ type: 'partial', of: 'c1', kind: 'output', from, text });
    const shown = [
      ...output(0, 'one\n'),
      ...output(4, 'two\n'),
      // After a lost connection, all of it is sent again.
      ...output(0, ''),
      ...output(0, 'one\ntwo\nthree\n'),
      ...updates.event(
        event({
          observation: 'run',
          tool_call_id: 'c1',
          cause: 6,
          content: 'one\ntwo\nthree\nend',
          extras: { command: 'npm test', metadata: { exit_code: 1 }, outcome: 'failed' },
        }),
      ),
    ];
    const written = shown.map(
      ({ _meta }) => (_meta as { terminal_output?: { data: string } }).terminal_output?.data ?? '',
    );
    assert.deepEqual(written, ['one\n', 'two\n', 'three\n', 'end', '']);
    const end = shown.at(-1);
    assert.ok(end?.sessionUpdate === 'tool_call_update');
    assert.deepEqual(end._meta, { terminal_exit: { terminal_id: 'c1', exit_code: 1, signal: null } });
    assert.deepEqual([end.status, end.content], ['failed', undefined]);
  });

  it('have the changed parts of a file, at its path on the machine of the client', () => {
    const diff = '--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9,2 @@\n last\n+added\n';
    const extras = { path: '/workspace/a.ts', operation: 'edit', diff, outcome: 'completed' };
    const [end] = create().event(
      event({ observation: 'edit', tool_call_id: 'c1', cause: 6, content: '', extras }),
    );
    assert.ok(end?.sessionUpdate === 'tool_call_update');
    assert.deepEqual(end.content, [
      { type: 'diff', path: '/home/me/project/a.ts', oldText: 'same\nold', newText: 'same\nnew' },
      { type: 'diff', path: '/home/me/project/a.ts', oldText: 'last', newText: 'last\nadded' },
    ]);
  });

  it('name every file of a call, each with its own changes, also where a line looks like a file name', () => {
    const diff = [
      '--- /workspace/a.ts\n+++ /workspace/a.ts\n@@ -1,2 +1,2 @@\n same\n--- b.ts\n+++ b.ts',
      '--- /dev/null\n+++ .github/ci.yml\n@@ -0,0 +1 @@\n+run',
      '--- /dev/null\n+++ /etc/empty\n',
    ].join('\n');
    const args = { path: '/workspace/a.ts', operation: 'edit', thought: '', diff };
    const [begun] = create().event(event({ action: 'edit', source: 'agent', tool_call_id: 'c1', args }));
    assert.ok(begun?.sessionUpdate === 'tool_call');
    const root = '/home/me/project';
    assert.equal(begun.title, `Edit ${root}/a.ts, ${root}/.github/ci.yml, /etc/empty`);
    assert.deepEqual(begun.content, [
      { type: 'diff', path: `${root}/a.ts`, oldText: 'same\n-- b.ts', newText: 'same\n++ b.ts' },
      { type: 'diff', path: `${root}/.github/ci.yml`, oldText: null, newText: 'run' },
      { type: 'diff', path: '/etc/empty', oldText: null, newText: '' },
    ]);
    // A file of the sandbox is not one of the client.
    assert.deepEqual(begun.locations, [{ path: `${root}/a.ts` }, { path: `${root}/.github/ci.yml` }]);
  });

  it('show a diff as text if a part of it is not understood', () => {
    for (const diff of ['--- a\n+++ a\n-whole\n+text', '--- a\n+++ a\n@@ -1,9 +1 @@\n-cut', 'anything']) {
      const extras = { path: '/workspace/a.ts', operation: 'edit', diff, outcome: 'completed' };
      const [end] = create().event(event({ observation: 'edit', tool_call_id: 'c', content: '', extras }));
      assert.ok(end?.sessionUpdate === 'tool_call_update');
      assert.deepEqual(end.content, [{ type: 'content', content: { type: 'text', text: diff } }]);
    }
  });

  it('have plans, usage, thoughts and images', () => {
    const updates = create();
    const tasks = [
      { id: '1', title: 'Read', status: 'done', notes: '' },
      { id: '2', title: 'Write', status: 'in_progress', notes: '' },
    ];
    assert.deepEqual(
      updates.event(event({ action: 'task_tracking', args: { command: 'plan', task_list: tasks } })),
      [
        {
          sessionUpdate: 'plan',
          entries: [
            { content: 'Read', priority: 'medium', status: 'completed' },
            { content: 'Write', priority: 'medium', status: 'in_progress' },
          ],
        },
      ],
    );
    const extras = { used: 10, size: 100, cost: { amount: 0.5, currency: 'USD' } };
    assert.deepEqual(updates.event(event({ observation: 'usage', content: '', extras })), [
      { sessionUpdate: 'usage_update', ...extras },
    ]);
    const [thought] = updates.event(event({ action: 'think', args: { thought: 'Hm.' } }));
    assert.equal(thought?.sessionUpdate, 'agent_thought_chunk');
    const image_urls = ['data:image/png;base64,AAAA', 'https://example.com/x.png'];
    const said = updates.event(
      event({ source: 'user', action: 'message', args: { content: 'Look', image_urls } }),
    );
    assert.deepEqual(
      said.map((update) => 'content' in update && update.content),
      [
        { type: 'text', text: 'Look' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'text', text: '\nhttps://example.com/x.png' },
      ],
    );
  });

  it('have notices as such only for clients that know them', () => {
    const notice = event({ source: 'environment', observation: 'notice', content: 'The agent has changed.' });
    assert.deepEqual(create({ hasNotices: true }).event(notice), [
      { sessionUpdate: 'notice', severity: 'info', title: 'The agent has changed.' },
    ]);
    const [text] = create().event(notice);
    assert.equal(text?.sessionUpdate, 'agent_message_chunk');
  });

  it('have the text of unknown events in an imported log', () => {
    const [said] = create().event(event({ action: 'delegate', message: 'I delegate this.' }));
    assert.deepEqual(said, {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: 'I delegate this.' },
      messageId: 'event-7',
    });
  });
});
