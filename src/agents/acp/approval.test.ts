import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyEvents } from '../../../test/support/anyEvent.ts';
import { approvalText, type ParleyEvent } from '../../client/parley.ts';
import { createEventMapper } from './events.ts';
import type { Params } from './peer.ts';
import { createQuestions } from './questions.ts';

const text = (value: string) => [{ type: 'content', content: { type: 'text', text: value } }];
const call = { toolCallId: 'c1', kind: 'execute' };

/** What somebody is asked, or why nobody is. */
function ask(request: Params, ...announced: readonly Params[]) {
  const mapper = createEventMapper({ mcpServers: ['docs'] });
  for (const update of announced) mapper.take({ sessionUpdate: 'tool_call', toolCallId: 'c1', ...update });
  const toolCall = { toolCallId: 'c1', ...request };
  const approval = mapper.approval(toolCall);
  if ('fault' in approval) return { fault: approval.fault, action: undefined, args: undefined };
  const asked = anyEvents(mapper.ask(toolCall, { state: 'awaiting_confirmation', risk: 'high' })).at(-1);
  return { fault: undefined, action: asked?.action, args: asked?.args as Params };
}

/** Everything that page and command line show of it. */
function shown({ args }: ReturnType<typeof ask>): string {
  const { request: _, ...others } = args ?? {};
  return `${Object.values(others).join('\n')}\n${approvalText({ args } as unknown as ParleyEvent)}`;
}

describe('what an approval request shows', () => {
  it('has the command from the input, and every other member of it', () => {
    const rawInput = { command: 'git', args: ['push', '--force'], cwd: '/', env: { A: 'b' } };
    const asked = ask({ ...call, title: 'git', rawInput });
    assert.deepEqual(asked.args?.['command'], 'git');
    assert.deepEqual(asked.args?.['request'], {
      input: { args: ['push', '--force'], cwd: '/', env: { A: 'b' } },
    });
    assert.match(shown(asked), /input\.args: \["push","--force"\]/);
  });

  it('has the command from a text that was announced, where the request has only a part of it', () => {
    const asked = ask(
      { title: 'Bash', content: text('Requesting approval to Running: rm a && …') },
      { ...call, title: 'Bash', status: 'pending', content: text('{"command":"rm a && rm b"}') },
    );
    assert.deepEqual([asked.action, asked.args?.['command']], ['run', 'rm a && rm b']);
    assert.match(shown(asked), /Requesting approval to Running/);
  });

  it('has a text that is no input beside the title', () => {
    const asked = ask({ ...call, title: 'Run a script', content: text('rm -rf /srv') });
    assert.match(shown(asked), /content: rm -rf \/srv/);
  });

  it('has both where title and input say different things', () => {
    const asked = ask({ ...call, title: 'ls', rawInput: { command: 'rm -rf /' } });
    assert.equal(asked.args?.['command'], 'rm -rf /');
    assert.match(shown(asked), /title: ls/);
    const other = ask({ ...call, rawInput: { command: 'ls' } }, { rawInput: { command: 'rm -rf /' } });
    assert.match(shown(other), /announced\.command: rm -rf \//);
  });

  it('has words of a command apart where blanks in them would hide that', () => {
    const asked = ask({ ...call, rawInput: { command: ['rm', 'a b', 'c'] } });
    assert.match(shown(asked), /input\.command: \["rm","a b","c"\]/);
    const script = ask({ ...call, rawInput: { command: ['/bin/sh', '-lc', 'rm a b'] } });
    assert.equal(script.args?.['request'], undefined);
  });

  it('has every place, and members that nobody knows', () => {
    const locations = [{ path: '/w/a' }, { path: '/etc/passwd', line: 3 }];
    const asked = ask({ kind: 'delete', title: 'Delete', locations, script: 'rm x' });
    assert.match(shown(asked), /"\/etc\/passwd:3"/);
    assert.match(shown(asked), /others\.script: rm x/);
  });

  it('has what the agent says in _meta, but not the output of a terminal', () => {
    const _meta = { note: 'runs as root', terminal_output: { data: 'x' }, terminal_exit: { exit_code: 0 } };
    const asked = ask({ ...call, rawInput: { command: 'ls' }, _meta });
    assert.deepEqual(asked.args?.['request'], { others: { _meta: { note: 'runs as root' } } });
    assert.match(shown(asked), /runs as root/);
    const plain = ask({ ...call, rawInput: { command: 'ls' }, _meta: { terminal_info: { id: 't' } } });
    assert.equal(plain.args?.['request'], undefined);
  });

  it('has fields of the request itself', async () => {
    const seen: Params[] = [];
    const { ask: request } = createQuestions(async ({ toolCall }) => {
      seen.push(toolCall);
      return 'cancelled';
    });
    const toolCall = { ...call, rawInput: { command: 'ls' } };
    await request({ sessionId: 's', toolCall, options: [], _meta: { elevated: true } });
    await request({ sessionId: 's', toolCall, options: [] });
    assert.match(shown(ask(seen[0] ?? {})), /\{"_meta":\{"elevated":true\}\}/);
    assert.deepEqual(seen[1], toolCall);
  });

  it('has the name of the tool where nothing else shows it', () => {
    assert.match(shown(ask({ title: 'Look', name: 'wipe_disk' })), /others\.name: wipe_disk/);
    const known = ask({ title: 'Find', name: 'mcp__docs__find' });
    assert.deepEqual([known.args?.['name'], known.args?.['request']], ['docs/find', { title: 'Find' }]);
  });

  it('does not repeat what the change shows', () => {
    const content = [{ type: 'diff', path: '/w/a', oldText: 'one\n', newText: 'two\nthree\n' }];
    const rawInput = { file_path: '/w/a', old_string: 'one', new_string: 'two\nthree', replace_all: true };
    const asked = ask({ kind: 'edit', title: '/w/a', rawInput, content });
    assert.deepEqual(asked.args?.['request'], { input: { replace_all: true } });
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
    'an unknown member that is too large': [{ ...call, title: 'rm a', more: large }, /too large/],
    'too many files': [
      { kind: 'delete', locations: Array.from({ length: 200 }, (_, i) => ({ path: `/${i}` })) },
      /too many files/,
    ],
  };
  for (const [name, [request, fault]] of Object.entries(faults))
    it(`refuses ${name}`, () => assert.match(ask(request).fault ?? '', fault));

  it('refuses what was announced in part only, whatever the request says', () => {
    const announced = { ...call, rawInput: { command: `${large}; rm -rf /` } };
    assert.match(ask({ title: 'ls' }, announced).fault ?? '', /input is too large/);
  });

  it('has every text that an agent told, in any member, or refuses', () => {
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
        const asked = ask(made);
        if (asked.fault !== undefined) return;
        const all = `${shown(asked)} ${JSON.stringify(asked.args)}`;
        const { kind: _, ...told } = made;
        for (const one of words(Object.values(told)))
          if (!ours.test(one)) assert.ok(all.includes(one), `${one} in ${JSON.stringify(asked.args)}`);
      }),
      { numRuns: 500 },
    );
  });
});
