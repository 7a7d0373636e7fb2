import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyEvents } from '../../../test/support/anyEvent.ts';
import { approvalText, type ParleyEvent } from '../../client/parley.ts';
import { createApprovalRequests } from './approvalRequests.ts';
import { createEventMapper } from './events.ts';
import type { Params } from './peer.ts';

const text = (value: string) => [{ type: 'content', content: { type: 'text', text: value } }];
const call = { toolCallId: 'c1', kind: 'execute' };

/** Returns the approval request that a person sees, or why it is rejected. */
function ask(request: Params, ...announced: readonly Params[]) {
  const mapper = createEventMapper({ mcpServers: ['docs'] });
  for (const update of announced) mapper.take({ sessionUpdate: 'tool_call', toolCallId: 'c1', ...update });
  const toolCall = { toolCallId: 'c1', ...request };
  const approval = mapper.approval(toolCall);
  if ('fault' in approval) return { fault: approval.fault, action: undefined, args: undefined };
  const shownRequest = anyEvents(
    mapper.announceCall(toolCall, { state: 'awaiting_confirmation', risk: 'high' }),
  ).at(-1);
  return { fault: undefined, action: shownRequest?.action, args: shownRequest?.args as Params };
}

/** Returns everything that the web UI and the CLI show of the request. */
function shown({ args }: ReturnType<typeof ask>): string {
  const { request: _, ...others } = args ?? {};
  return `${Object.values(others).join('\n')}\n${approvalText({ args } as unknown as ParleyEvent)}`;
}

describe('an approval request', () => {
  it('shows the command from the input, and every other field of the input', () => {
    const rawInput = { command: 'git', args: ['push', '--force'], cwd: '/', env: { A: 'b' } };
    const shownRequest = ask({ ...call, title: 'git', rawInput });
    assert.deepEqual(shownRequest.args?.['command'], 'git');
    assert.deepEqual(shownRequest.args?.['request'], {
      input: { args: ['push', '--force'], cwd: '/', env: { A: 'b' } },
    });
    assert.match(shown(shownRequest), /input\.args: \["push","--force"\]/);
  });

  it('shows the command from the announced text if the request has only a part of it', () => {
    const shownRequest = ask(
      { title: 'Bash', content: text('Requesting approval to Running: rm a && …') },
      { ...call, title: 'Bash', status: 'pending', content: text('{"command":"rm a && rm b"}') },
    );
    assert.deepEqual([shownRequest.action, shownRequest.args?.['command']], ['run', 'rm a && rm b']);
    assert.match(shown(shownRequest), /Requesting approval to Running/);
  });

  it('shows a text that is not an input beside the title', () => {
    const shownRequest = ask({ ...call, title: 'Run a script', content: text('rm -rf /srv') });
    assert.match(shown(shownRequest), /content: rm -rf \/srv/);
  });

  it('shows both if title and input differ', () => {
    const shownRequest = ask({ ...call, title: 'ls', rawInput: { command: 'rm -rf /' } });
    assert.equal(shownRequest.args?.['command'], 'rm -rf /');
    assert.match(shown(shownRequest), /title: ls/);
    const other = ask({ ...call, rawInput: { command: 'ls' } }, { rawInput: { command: 'rm -rf /' } });
    assert.match(shown(other), /announced\.command: rm -rf \//);
  });

  it('shows the words of a command separately if they contain blanks', () => {
    const shownRequest = ask({ ...call, rawInput: { command: ['rm', 'a b', 'c'] } });
    assert.match(shown(shownRequest), /input\.command: \["rm","a b","c"\]/);
    const script = ask({ ...call, rawInput: { command: ['/bin/sh', '-lc', 'rm a b'] } });
    assert.equal(script.args?.['request'], undefined);
    const noText = { toString: 1, valueOf: 1 };
    for (const command of [
      [noText, '-c', 'rm a'],
      ['sh', noText, 'rm a'],
      ['sh', '-c', noText],
    ]) {
      const odd = ask({ ...call, rawInput: { command } });
      assert.deepEqual(odd.args?.['request'], { input: { command } });
    }
  });

  it('shows every location, and unknown fields', () => {
    const locations = [{ path: '/w/a' }, { path: '/etc/passwd', line: 3 }];
    const shownRequest = ask({ kind: 'delete', title: 'Delete', locations, script: 'rm x' });
    assert.match(shown(shownRequest), /"\/etc\/passwd:3"/);
    assert.match(shown(shownRequest), /others\.script: rm x/);
  });

  it('shows _meta, but not the output of a terminal', () => {
    const _meta = { note: 'runs as root', terminal_output: { data: 'x' }, terminal_exit: { exit_code: 0 } };
    const shownRequest = ask({ ...call, rawInput: { command: 'ls' }, _meta });
    assert.deepEqual(shownRequest.args?.['request'], { others: { _meta: { note: 'runs as root' } } });
    assert.match(shown(shownRequest), /runs as root/);
    const plain = ask({ ...call, rawInput: { command: 'ls' }, _meta: { terminal_info: { id: 't' } } });
    assert.equal(plain.args?.['request'], undefined);
  });

  it('shows fields of the request itself', async () => {
    const seen: Params[] = [];
    const { request } = createApprovalRequests(async ({ toolCall }) => {
      seen.push(toolCall);
      return 'cancelled';
    });
    const toolCall = { ...call, rawInput: { command: 'ls' } };
    await request({ sessionId: 's', toolCall, options: [], _meta: { elevated: true } });
    await request({ sessionId: 's', toolCall, options: [] });
    assert.match(shown(ask(seen[0] ?? {})), /\{"_meta":\{"elevated":true\}\}/);
    assert.deepEqual(seen[1], toolCall);
  });

  it('shows the name of the tool if nothing else does', () => {
    assert.match(shown(ask({ title: 'Look', name: 'wipe_disk' })), /others\.name: wipe_disk/);
    const known = ask({ title: 'Find', name: 'mcp__docs__find' });
    assert.deepEqual([known.args?.['name'], known.args?.['request']], ['docs/find', { title: 'Find' }]);
  });

  it('does not repeat what the diff shows', () => {
    const content = [{ type: 'diff', path: '/w/a', oldText: 'one\n', newText: 'two\nthree\n' }];
    const rawInput = { file_path: '/w/a', old_string: 'one', new_string: 'two\nthree', replace_all: true };
    const shownRequest = ask({ kind: 'edit', title: '/w/a', rawInput, content });
    assert.deepEqual(shownRequest.args?.['request'], { input: { replace_all: true } });
    const other = ask({ kind: 'edit', title: '/w/a', rawInput: { content: 'four' }, content });
    assert.match(shown(other), /input\.content: four/);
  });

  const large = 'x'.repeat(70_000);
  const faults: Readonly<Record<string, readonly [Params, RegExp]>> = {
    'a title that is too long': [{ ...call, title: `${large}; rm -rf /` }, /title is too long/],
    'a content that is too long': [{ ...call, title: 'a', content: text(large) }, /content is too large/],
    'an image': [
      { ...call, title: 'a', content: [{ type: 'content', content: { type: 'image', data: 'x' } }] },
      /is not text/,
    ],
    'a content of an unknown type': [
      { ...call, title: 'a', rawInput: { command: 'ls' }, content: [{ type: 'terminal', terminalId: 't' }] },
      /is not text/,
    ],
    'a content that is no list': [{ ...call, title: 'a', content: 'rm' }, /is not text/],
    'an id and nothing else': [{}, /does not say what it would do/],
    'a kind and nothing else': [{ kind: 'delete' }, /does not say what it would do/],
    'a description that nobody would see': [
      { title: ' \u200b\n', rawInput: { command: '\u3164 ' }, content: text(''), locations: [] },
      /does not say what it would do/,
    ],
    'nothing but the name of a tool': [{ ...call, title: 'Bash' }, /does not say what it would run/],
    'a command that its agent has shortened': [{ ...call, title: 'rm a && …' }, /shortened/],
    'an edit without its change': [{ kind: 'edit', title: 'Edit a' }, /does not say what it would change/],
    'an unknown field that is too large': [{ ...call, title: 'rm a', more: large }, /too large/],
    'too many files': [
      { kind: 'delete', locations: Array.from({ length: 200 }, (_, i) => ({ path: `/${i}` })) },
      /too many files/,
    ],
  };
  for (const [name, [request, fault]] of Object.entries(faults))
    it(`is rejected for ${name}`, () => assert.match(ask(request).fault ?? '', fault));

  it('is rejected if the announcement was incomplete, whatever the request contains', () => {
    const announced = { ...call, rawInput: { command: `${large}; rm -rf /` } };
    assert.match(ask({ title: 'ls' }, announced).fault ?? '', /input is too large/);
  });

  it('shows every text that the agent sent, in any field, or is rejected', () => {
    const word = fc.stringMatching(/^[a-z]{6,12}$/);
    const value = fc.oneof(word, fc.array(word), fc.dictionary(word, word), fc.record({ command: word }));
    const request = fc.record(
      {
        kind: fc.constantFrom('execute', 'edit', 'delete', 'read', 'fetch', 'other'),
        title: word,
        rawInput: value,
        content: word.map(text),
        locations: fc.array(fc.record({ path: word })),
        anything: value,
      },
      { requiredKeys: [] },
    );
    const words = (one: unknown) => JSON.stringify(one).match(/[a-z]{6,12}/g) ?? [];
    const ours = /^(execute|delete|content|locations|command|rawInput|anything)$/;
    fc.assert(
      fc.property(request, (made) => {
        const shownRequest = ask(made);
        if (shownRequest.fault !== undefined) return;
        const all = `${shown(shownRequest)} ${JSON.stringify(shownRequest.args)}`;
        const { kind: _, ...fields } = made;
        for (const one of words(Object.values(fields)))
          if (!ours.test(one)) assert.ok(all.includes(one), `${one} in ${JSON.stringify(shownRequest.args)}`);
      }),
      { numRuns: 500 },
    );
  });
});
