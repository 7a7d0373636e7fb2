// Events of any content as text for people.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nextState, unknownState } from '../../client/agentState.ts';
import { decodeEvent } from '../../client/parley.ts';
import { approvalPrompt, createTimeline } from './timeline.ts';

const obeyed = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u;
const options = { style: (_: unknown, text: string) => text, linesMax: 10 };
const tell = (event: object) => createTimeline(options)(decodeEvent({ id: 0, source: 'agent', ...event }));

describe('the timeline', () => {
  it('shows odd events as far as they make sense, and leaves out the rest', () => {
    const cases: [object, string][] = [
      [{ action: 'constructor' }, ''],
      [{ observation: 'toString' }, ''],
      [{ observation: 'error', content: 5 }, '✗ 5\n'],
      [
        { action: 'task_tracking', args: { task_list: [null, { status: 'constructor' }, 5] } },
        'Plan\n  · \n',
      ],
      [{ action: 'edit', args: { path: 'a', operation: '\u001b[2Jcreate' } }, '± edit a\n'],
      [
        { observation: 'run', content: '\u001b[31mred\u001b]x', extras: { metadata: { exit_code: '\b7' } } },
        '  red␛]x\n',
      ],
      [
        { action: 'call_tool', args: { name: 'x', arguments: `${'a'.repeat(197)}😀` } },
        `· x "${'a'.repeat(197)}…\n`,
      ],
    ];
    for (const [event, text] of cases) assert.equal(tell(event), text, JSON.stringify(event));
  });

  it('shows how much of the context is used, if the agent reports both numbers', () => {
    const usage = (extras: object) => tell({ observation: 'usage', extras });
    assert.equal(usage({ used: 12_800, size: 128_000 }), 'Context: 12,800 of 128,000 tokens (10 %)\n');
    assert.equal(usage({ used: 12_800 }), '');
    assert.equal(usage({ used: 1, size: 0 }), '');
  });

  it('shows an approval request in full, with the command that answers this request only', () => {
    const ask = (event: object) =>
      approvalPrompt('c', decodeEvent({ id: 7, source: 'agent', ...event }), options.style);
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`).join('\n');
    const input = 'x'.repeat(1_000);
    const cases: [object, string][] = [
      [
        { action: 'run', args: { command: 'ls', request: { title: 'x', input: { script: 'a\n\u001bb' } } } },
        '    $ ls\n      title: x\n      input.script:\n        a\n        ␛b\n',
      ],
      [
        { action: 'run', args: { command: 'ls \u001b]0;\nrm -rf .\u0007' } },
        '    $ ls ␛]0;\n    rm -rf .␇\n',
      ],
      [
        { action: 'edit', args: { path: 'a', diff: lines } },
        `    ± edit a\n${lines.replace(/^/gm, '      ')}\n`,
      ],
      [
        {
          action: 'run',
          args: {
            command: `touch evil${'\n'.repeat(121)}ls${' '.repeat(300)}; rm a`,
            request: { content: `a${'\n'.repeat(51)}b` },
          },
        },
        '    $ touch evil\n    ⟨120 empty lines⟩\n    ls ⟨300 spaces⟩ ; rm a\n      content:\n        a\n      ⟨50 empty lines⟩\n        b\n',
      ],
      [
        { action: 'edit', args: { path: 'a', diff: `+a\n${'+\n'.repeat(40)}+b` } },
        '    ± edit a\n      +a\n      +⟨40 empty lines⟩\n      +b\n',
      ],
      [{ action: 'call_tool', args: { name: 'x', arguments: { input } } }, `    · x {"input":"${input}"}\n`],
    ];
    for (const [event, text] of cases)
      assert.equal(
        ask(event),
        `\nThe agent needs your approval:\n${text}  parley confirm c allow --question 7      or: always, reject\n`,
      );
  });

  it('never throws, and never contains a control sequence', () => {
    const text = fc.oneof(
      fc.constantFrom('\u001b[2J', '\u009b', 'done', '--- a', 'constructor'),
      fc.string(),
    );
    const value = fc.oneof(text, fc.jsonValue(), fc.array(fc.dictionary(text, text)));
    const members = (...names: string[]) =>
      fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
    const kinds = [
      'message',
      'think',
      'task_tracking',
      'run',
      'edit',
      'read',
      'call_tool',
      'change_agent_state',
    ];
    const event = fc.record(
      {
        action: fc.oneof(fc.constantFrom(...kinds), value),
        observation: fc.oneof(fc.constantFrom(...kinds, 'notice', 'error', 'agent_state_changed'), value),
        args: fc.oneof(
          members(
            'content',
            'thought',
            'path',
            'diff',
            'operation',
            'command',
            'arguments',
            'task_list',
            'request',
            'name',
          ),
          value,
        ),
        extras: fc.oneof(
          fc.record({ metadata: members('exit_code'), outcome: fc.constantFrom('failed', 1) }),
          members('agent_state'),
          value,
        ),
        content: value,
        message: value,
        tool_call_id: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 4 }), (events) => {
        const told = createTimeline(options);
        for (const made of events.map(decodeEvent)) {
          assert.doesNotMatch(told(made), obeyed);
          assert.doesNotMatch(approvalPrompt('c', made, options.style), obeyed);
          nextState(unknownState, made);
        }
      }),
      { numRuns: 300 },
    );
  });
});
