import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AnyEvent, anyEvents } from '../../../test/support/anyEvent.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { createMaskedStream, createSecretValues } from '../../text/secretValues.ts';
import { createEventMapper } from './events.ts';
import { messageLengthMax } from './speech.ts';
import type { SessionUpdate } from './update.ts';

const commands = (availableCommands: unknown) => ({
  sessionUpdate: 'available_commands_update',
  availableCommands,
});
const commandsEvent = (availableCommands: unknown): NewEvent => ({
  source: 'agent',
  message: '',
  observation: 'agent_update',
  content: '',
  extras: { update: { sessionUpdate: 'available_commands_update', availableCommands } },
});
const say = (text: string, more = {}): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
  ...more,
});
const think = (text: string): SessionUpdate => ({
  sessionUpdate: 'agent_thought_chunk',
  content: { type: 'text', text },
});
const call = (more: object): SessionUpdate => ({
  sessionUpdate: 'tool_call',
  toolCallId: 'c1',
  title: 'A title',
  ...more,
});
const change = (more: object): SessionUpdate => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  ...more,
});
const output = (text: string) => [{ type: 'content', content: { type: 'text', text } }];

/** Returns the events of one turn. */
function turn(updates: readonly SessionUpdate[], options = {}): AnyEvent[] {
  const mapper = createEventMapper(options);
  return anyEvents([...updates.flatMap((update) => mapper.take(update)), ...mapper.end()]);
}

const said = (content: string): NewEvent => ({
  source: 'agent',
  message: content,
  action: 'message',
  args: { content, image_urls: [], file_urls: [], wait_for_response: false },
});
const thought = (text: string): NewEvent => ({
  source: 'agent',
  message: '',
  action: 'think',
  args: { thought: text },
});
const contentOf = (event: AnyEvent | undefined) => String(event?.content);
const extraOf = (event: AnyEvent | undefined, name: string) => event?.extras?.[name];
const textsOf = (events: readonly { readonly message: string }[]) => events.map(({ message }) => message);

const cases: Readonly<Record<string, { updates: SessionUpdate[]; events: unknown[] }>> = {
  'chunks of a message are joined': {
    updates: [say('Hel'), say('lo'), say(' there')],
    events: [said('Hello there')],
  },
  'messages with different ids stay separate': {
    updates: [say('a', { messageId: '1' }), say('b', { messageId: '2' })],
    events: [said('a'), said('b')],
  },
  'thoughts and messages stay separate, in order': {
    updates: [think('Hm'), think('m'), say('Yes'), think('No')],
    events: [thought('Hmm'), said('Yes'), thought('No')],
  },
  'a message of only white space is left out': { updates: [say('\n'), say(' ')], events: [] },
  'images and links in a message are replaced with text': {
    updates: [
      say('See '),
      { sessionUpdate: 'agent_message_chunk', content: { type: 'image', data: 'x', mimeType: 'image/png' } },
      {
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'resource_link', name: 'a.md', uri: 'file:///a.md' },
      },
    ],
    events: [said('See [image image/png][a.md](file:///a.md)')],
  },
  'messages of the user are not repeated': {
    updates: [{ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'hi' } }],
    events: [],
  },
  'a command is an action and, with its output, an observation, without the updates between them': {
    updates: [
      say('I look.'),
      call({ kind: 'execute', status: 'pending', title: '`ls -l`', rawInput: {} }),
      change({ status: 'in_progress', rawInput: { command: ['ls', '-l'] } }),
      change({ content: output('a') }),
      change({ content: output('a\nb') }),
      change({ status: 'completed', content: output('a\nb'), rawOutput: { exitCode: 0 } }),
    ],
    events: [
      said('I look.'),
      {
        source: 'agent',
        message: '`ls -l`',
        action: 'run',
        args: { command: 'ls -l', thought: '' },
        tool_call_id: 'c1',
      },
      {
        source: 'agent',
        message: '',
        observation: 'run',
        content: 'a\nb',
        extras: { command: 'ls -l', metadata: { exit_code: 0 }, outcome: 'completed' },
        tool_call_id: 'c1',
      },
    ],
  },
  'a command that failed without a code has the code -1': {
    updates: [call({ kind: 'execute', title: '`make`', status: 'failed', rawOutput: 'no rule' })],
    events: [
      {
        source: 'agent',
        message: '`make`',
        action: 'run',
        args: { command: 'make', thought: '' },
        tool_call_id: 'c1',
      },
      {
        source: 'agent',
        message: '',
        observation: 'run',
        content: 'no rule',
        extras: { command: 'make', metadata: { exit_code: -1 }, outcome: 'failed' },
        tool_call_id: 'c1',
      },
    ],
  },
  'an edit has its path and its diff': {
    updates: [
      call({ kind: 'edit', status: 'in_progress', locations: [{ path: '/w/a.txt' }] }),
      change({
        status: 'completed',
        content: [{ type: 'diff', path: '/w/a.txt', oldText: 'one\ntwo\n', newText: 'one\n2\n' }],
      }),
    ],
    events: [
      {
        source: 'agent',
        message: 'A title',
        action: 'edit',
        args: { path: '/w/a.txt', operation: 'edit', thought: '' },
        tool_call_id: 'c1',
      },
      {
        source: 'agent',
        message: '',
        observation: 'edit',
        content: '--- /w/a.txt\n+++ /w/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2',
        extras: {
          path: '/w/a.txt',
          operation: 'edit',
          prev_exist: true,
          diff: '--- /w/a.txt\n+++ /w/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2',
          outcome: 'completed',
        },
        tool_call_id: 'c1',
      },
    ],
  },
  'reading a file has its path and its content': {
    updates: [
      call({ kind: 'read', rawInput: { file_path: '/w/a' }, status: 'completed', content: output('x') }),
    ],
    events: [
      {
        source: 'agent',
        message: 'A title',
        action: 'read',
        args: { path: '/w/a', thought: '' },
        tool_call_id: 'c1',
      },
      {
        source: 'agent',
        message: '',
        observation: 'read',
        content: 'x',
        extras: { path: '/w/a', outcome: 'completed' },
        tool_call_id: 'c1',
      },
    ],
  },
  'a tool of an MCP server has its name and arguments': {
    updates: [
      call({
        kind: 'other',
        title: 'mcp__docs__find',
        rawInput: { q: 1 },
        status: 'completed',
        rawOutput: 'ok',
      }),
    ],
    events: [
      {
        source: 'agent',
        message: 'mcp__docs__find',
        action: 'call_tool_mcp',
        args: { name: 'docs/find', arguments: { q: 1 }, thought: '' },
        tool_call_id: 'c1',
      },
      {
        source: 'agent',
        message: '',
        observation: 'mcp',
        content: 'ok',
        extras: { name: 'docs/find', arguments: { q: 1 }, outcome: 'completed' },
        tool_call_id: 'c1',
      },
    ],
  },
  'a plan is a list of tasks, logged when it changes': {
    updates: [
      { sessionUpdate: 'plan', entries: [{ content: 'a', status: 'completed' }, { content: 'b' }] },
      { sessionUpdate: 'plan', entries: [{ content: 'a', status: 'completed' }, { content: 'b' }] },
    ],
    events: [
      {
        source: 'agent',
        message: '',
        action: 'task_tracking',
        args: {
          command: 'plan',
          task_list: [
            { id: '1', title: 'a', status: 'done', notes: '' },
            { id: '2', title: 'b', status: 'todo', notes: '' },
          ],
        },
      },
    ],
  },
  'the last usage of a turn is logged, and does not split a message': {
    updates: [
      say('Hel'),
      { sessionUpdate: 'usage_update', used: 1, size: 10 },
      { sessionUpdate: 'usage_update', used: 2, size: 10, cost: { amount: 0.5, currency: 'USD' } },
      say('lo'),
    ],
    events: [
      said('Hello'),
      {
        source: 'agent',
        message: '',
        observation: 'usage',
        content: '',
        extras: { used: 2, size: 10, cost: { amount: 0.5, currency: 'USD' } },
      },
    ],
  },
  'commands are logged when they change, within limits, and do not split a message': {
    updates: [
      say('Hel'),
      commands([{ name: 'plan', description: 'x'.repeat(1_000), input: { hint: 7 } }, 'none', {}]),
      commands([{ name: 'plan', description: 'x'.repeat(1_000), input: { hint: 7 } }, 'none', {}]),
      say('lo'),
      commands('none'),
    ],
    events: [
      commandsEvent([
        {
          name: 'plan',
          description: `${'x'.repeat(128)}\n[744 bytes were cut here]\n${'x'.repeat(128)}`,
          input: { hint: '7' },
        },
        { name: '', description: '', input: null },
      ]),
      commandsEvent([]),
      said('Hello'),
    ],
  },
  'unknown updates are kept unchanged': {
    updates: [{ sessionUpdate: 'from_the_future', note: [1] }],
    events: [
      {
        source: 'agent',
        message: '',
        observation: 'agent_update',
        content: '',
        extras: { update: { sessionUpdate: 'from_the_future', note: [1] } },
      },
    ],
  },
  'invalid values in known fields are harmless': {
    updates: [
      { sessionUpdate: 'agent_message_chunk', content: 7 },
      { sessionUpdate: 'agent_message_chunk' },
      { sessionUpdate: 'tool_call', toolCallId: 9 },
      { sessionUpdate: 'plan', entries: 'none' },
      { sessionUpdate: 'usage_update', used: {}, size: null, cost: 'free' },
    ],
    events: [
      {
        source: 'agent',
        message: '',
        action: 'task_tracking',
        args: { command: 'plan', task_list: [] },
      },
      {
        source: 'agent',
        message: '',
        observation: 'usage',
        content: '',
        extras: { used: null, size: null, cost: null },
      },
    ],
  },
};

describe('the events of a turn', () => {
  for (const [fact, { updates, events }] of Object.entries(cases))
    it(fact, () => assert.deepEqual(turn(updates), events));

  it('recognize tools of the MCP servers of the agent', () => {
    const update = call({ title: 'docs_find', kind: 'other', status: 'completed' });
    const [plain] = turn([update]);
    const args = { name: 'docs_find', kind: 'other', arguments: {}, thought: '' };
    assert.deepEqual([plain?.action, plain?.args], ['call_tool_mcp', args]);
    const titles = [
      'docs_find',
      'docs-find',
      'find (docs MCP Server)',
      'find (docs MCP Server): {"word":"x"}',
    ];
    for (const title of titles) {
      const [known] = turn([{ ...update, title }], { mcpServers: ['docs'] });
      assert.deepEqual(known?.['args'], { name: 'docs/find', arguments: {}, thought: '' });
    }
    const [other] = turn([{ ...update, title: 'find (other MCP Server)' }], { mcpServers: ['docs'] });
    assert.deepEqual([other?.action, other?.args?.['kind']], ['call_tool_mcp', 'other']);
  });

  it('drop the content of a call if a later list of contents is empty', () => {
    const begun = call({ kind: 'execute', status: 'in_progress', content: output('[in /workspace]') });
    const [, kept] = turn([begun, change({ status: 'completed' })]);
    assert.equal(contentOf(kept), '[in /workspace]');
    const [, emptied] = turn([begun, change({ status: 'completed', content: [] })]);
    assert.equal(contentOf(emptied), '');
  });

  it('recognize a new file if the agent reports an empty old one and marks it as added', () => {
    const diff = { type: 'diff', path: '/w/a', oldText: '', newText: 'x' };
    const existed = (more: object) => {
      const [, edited] = turn([call({ kind: 'edit', status: 'completed', content: [{ ...diff, ...more }] })]);
      return extraOf(edited, 'prev_exist');
    };
    assert.deepEqual([existed({}), existed({ _meta: { kind: 'add' } })], [true, false]);
  });

  it('contain the usage again in a later turn only if it has changed', () => {
    const mapper = createEventMapper();
    const use = (used: number) => mapper.take({ sessionUpdate: 'usage_update', used, size: 9 });
    const counts = [1, 1, 2].map((used) => [...use(used), ...mapper.end()].length);
    assert.deepEqual(counts, [1, 0, 1]);
  });

  it('close calls that never ended, and ignore later updates of them', () => {
    const mapper = createEventMapper();
    assert.deepEqual(mapper.take(call({ kind: 'execute', rawInput: { command: 'sleep 9' } })), []);
    const [action, observation] = anyEvents(mapper.end());
    assert.equal(action?.['action'], 'run');
    assert.equal(contentOf(observation), 'It did not finish.');
    assert.deepEqual(extraOf(observation, 'outcome'), 'unfinished');
    assert.deepEqual(mapper.take(change({ status: 'completed' })), []);
    assert.deepEqual(mapper.end(), []);
  });

  it('contain whole lines and announced calls after a flush, and the rest later', () => {
    const mapper = createEventMapper();
    assert.deepEqual(mapper.take(say('One.\nTwo. ')), []);
    assert.deepEqual(mapper.flush(), [said('One.\n')]);
    assert.deepEqual(mapper.flush(), []);
    mapper.take(say('Three.'));
    assert.deepEqual(mapper.take(call({ kind: 'execute', rawInput: { command: 'ls' } })), [
      said('Two. Three.'),
    ]);
    assert.deepEqual(
      anyEvents(mapper.flush()).map(({ action }) => action),
      ['run'],
    );
    assert.deepEqual(
      anyEvents(mapper.take(change({ status: 'completed' }))).map(({ observation }) => observation),
      ['run'],
    );
  });

  it('contain the output of the field that the profile of the agent names', () => {
    const updates = [
      call({ kind: 'execute', status: 'in_progress', _meta: { terminal_output: { data: 'streamed' } } }),
      change({ status: 'completed', content: output('in content'), rawOutput: { output: 'raw' } }),
    ];
    const contentWith = (options: object) => contentOf(turn(updates, options)[1]);
    assert.equal(contentWith({}), 'in content');
    assert.equal(contentWith({ output: 'content' }), 'in content');
    assert.equal(contentWith({ output: 'rawOutput' }), 'raw');
    assert.equal(contentWith({ output: 'terminal_output' }), 'streamed');
    const [, other] = turn([call({ status: 'completed', content: output('in content') })], {
      output: 'terminal_output',
    });
    assert.equal(contentOf(other), 'in content');
  });

  it('contain the output and the exit code that an agent sends as terminal output', () => {
    const piece = (data: string) => change({ _meta: { terminal_output: { terminal_id: 'c1', data } } });
    const [, observation] = turn([
      call({ kind: 'execute', status: 'in_progress', _meta: { terminal_info: { terminal_id: 'c1' } } }),
      piece('one\n'),
      piece('two\n'),
      change({
        status: 'failed',
        _meta: { terminal_exit: { terminal_id: 'c1', exit_code: 3, signal: null } },
      }),
    ]);
    assert.equal(contentOf(observation), 'one\ntwo\n');
    assert.deepEqual(extraOf(observation, 'metadata'), { exit_code: 3 });
    const [, long] = turn([
      call({ kind: 'execute', status: 'in_progress' }),
      ...Array.from({ length: 100 }, (_, i) => piece(`${i} ${'x'.repeat(1_000)}\n`)),
      change({ status: 'completed' }),
    ]);
    assert.match(contentOf(long), /^0 x.*\n\[67622 characters were cut here\]\n.*\n99 x+\n$/s);
  });

  it('do not contain the content of an approval request as output', () => {
    const mapper = createEventMapper();
    mapper.announceCall(
      { toolCallId: 'c1', kind: 'execute', rawInput: { command: 'ls' }, content: output('May I?') },
      { state: 'confirmed', risk: 'high' },
    );
    const [observation] = anyEvents(
      mapper.take(change({ status: 'completed', rawOutput: { exit_code: 0 } })),
    );
    assert.equal(contentOf(observation), '');
  });

  it('contain one action of a call that is in progress before its approval request', () => {
    for (const needsApproval of [true, false]) {
      const mapper = createEventMapper({ needsApproval: () => needsApproval });
      const state = needsApproval ? 'awaiting_confirmation' : 'confirmed';
      const events = [
        ...mapper.take(call({ kind: 'execute', status: 'in_progress', rawInput: { command: 'ls' } })),
        ...mapper.announceCall({ toolCallId: 'c1' }, { state, risk: 'high' }),
        ...mapper.take(change({ status: 'completed' })),
      ];
      assert.deepEqual(
        anyEvents(events).map(({ action, observation }) => action ?? observation),
        ['run', 'run'],
      );
    }
  });

  it('contain a call that needs approval once, with its risk and its diff', () => {
    const mapper = createEventMapper();
    mapper.take(call({ kind: 'edit', status: 'pending' }));
    assert.equal(mapper.kindOf('c1'), 'edit');
    const asked = mapper.announceCall(
      {
        toolCallId: 'c1',
        content: [{ type: 'diff', path: 'a', oldText: null, newText: 'x' }],
      },
      { state: 'awaiting_confirmation', risk: 'medium' },
    );
    assert.deepEqual(
      anyEvents(asked).map(({ args }) => args),
      [
        {
          path: 'a',
          operation: 'edit',
          diff: '--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x',
          thought: '',
          confirmation_state: 'awaiting_confirmation',
          security_risk: 1,
          request: { title: 'A title' },
        },
      ],
    );
    assert.deepEqual(mapper.take(change({ status: 'in_progress' })), []);
    assert.equal(mapper.take(change({ status: 'failed' })).length, 1);
  });
});

describe('the limits of a turn', () => {
  it('split a message that is too long after a line, and lose nothing', () => {
    const text = `${'word '.repeat(10)}\n`.repeat(4_000);
    const texts = textsOf(turn([say(text)]));
    assert.equal(texts.join(''), text);
    assert.ok(texts.length > 1 && texts.every((one) => one.length <= messageLengthMax && one.endsWith('\n')));
    const dense = 'x'.repeat(3 * messageLengthMax + 1);
    assert.equal(textsOf(turn([say(dense)])).join(''), dense);
  });

  it('cut a long output in its middle and show how much is missing', () => {
    const text = `begin${'é'.repeat(100_000)}end`;
    const [, observation] = turn([call({ kind: 'execute', status: 'completed', content: output(text) })]);
    const content = contentOf(observation);
    assert.match(content, /^begin.*\n\[\d+ bytes were cut here\]\n.*end$/s);
    assert.ok(!content.includes('\ufffd'));
    assert.ok(Buffer.byteLength(content) < 65 * 1024);
  });

  it('reduce large and deep values', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, 'v'.repeat(500)]));
    for (const value of [deep, wide, 'x'.repeat(1_000_000)]) {
      const events = turn([
        { sessionUpdate: 'odd', value },
        call({ kind: 'other', status: 'completed', rawInput: { value } }),
      ]);
      assert.equal(events.length, 3);
      assert.ok(JSON.stringify(events).length < 80_000);
    }
  });

  it('keep an approval request, however many events came before', () => {
    const mapper = createEventMapper({ eventsPerTurnMax: 1 });
    mapper.take(think('a'));
    mapper.take(say('b'));
    for (let i = 0; i < 300; i++) {
      const asked = mapper.announceCall(
        { toolCallId: `c${i}`, kind: 'execute', title: 'rm', rawInput: { command: `rm ${i}` } },
        { state: 'awaiting_confirmation', risk: 'high' },
      );
      assert.ok(JSON.stringify(asked.at(-1)).includes(`"rm ${i}"`));
    }
  });

  it('leave out further events, report that once, and keep the last message', () => {
    const updates = Array.from({ length: 50 }, (_, i) => [say(`m${i}`), think('t')]).flat();
    const events = turn([...updates, say('Done.')], { eventsPerTurnMax: 10 });
    assert.equal(events.length, 12);
    assert.equal(extraOf(events[10], 'error_id'), 'TOO_MANY_EVENTS');
    assert.deepEqual(events[11], said('Done.'));
  });

  it('apply to each turn separately', () => {
    const mapper = createEventMapper({ eventsPerTurnMax: 2 });
    for (let i = 0; i < 3; i++) {
      const events = [...mapper.take(say('a')), ...mapper.take(think('b')), ...mapper.end()];
      assert.equal(events.length, 2);
    }
  });

  it('contain a rejected call once, unless it was executed all the same', () => {
    for (const [status, logged] of [
      ['failed', []],
      ['completed', ['run']],
    ] as const) {
      const mapper = createEventMapper();
      mapper.announceCall(
        { toolCallId: 'c1', kind: 'execute', title: 'ls' },
        { state: 'awaiting_confirmation', risk: 'high' },
      );
      const [rejected] = anyEvents(mapper.reject({ toolCallId: 'c1' }));
      assert.deepEqual([rejected?.observation, rejected?.tool_call_id], ['user_rejected', 'c1']);
      const after = anyEvents(mapper.take(change({ status })));
      assert.deepEqual(
        after.map(({ observation }) => observation),
        logged,
      );
      assert.deepEqual(mapper.end(), []);
    }
    const mapper = createEventMapper();
    mapper.announceCall(
      { toolCallId: 'c1', kind: 'execute', title: 'ls' },
      { state: 'awaiting_confirmation', risk: 'high' },
    );
    mapper.reject({ toolCallId: 'c1' });
    // Some agents never mention the call again.
    assert.deepEqual(mapper.end(), []);
  });

  it('close the oldest of too many open calls', () => {
    const mapper = createEventMapper();
    const events = Array.from({ length: 101 }, (_, i) =>
      mapper.take(call({ toolCallId: `c${i}`, kind: 'execute', status: 'in_progress' })),
    ).flat();
    const closed = anyEvents(events).filter(({ observation }) => observation === 'run');
    assert.deepEqual(
      closed.map(({ tool_call_id }) => tool_call_id),
      ['c0'],
    );
  });
});

describe('secrets in updates of an agent', () => {
  const values = createSecretValues(['hunter2'], '*****');
  const maskStream = () => createMaskedStream(() => values, '*****');

  it('are masked everywhere, before anything is cut or split', () => {
    const long = `${'x'.repeat(40_000)}hunter2 `.repeat(4);
    const events = turn(
      [
        say('the password is hun'),
        say('ter2'),
        think('hunter2'),
        call({
          title: 'echo hunter2',
          kind: 'execute',
          status: 'in_progress',
          rawInput: { command: ['hunter2'] },
        }),
        change({ status: 'completed', content: output(long), locations: [{ path: '/hunter2' }] }),
        call({
          toolCallId: 'c2',
          kind: 'edit',
          status: 'completed',
          content: [{ type: 'diff', path: 'hunter2', oldText: 'hunter2', newText: 'a' }],
        }),
        { sessionUpdate: 'plan', entries: [{ content: 'hunter2' }] },
        { sessionUpdate: 'odd', hunter2: ['hunter2'] },
        say(long),
      ],
      { mask: values.mask, maskStream },
    );
    const text = JSON.stringify(events);
    assert.ok(!text.includes('hunter2'));
    assert.ok(text.includes('the password is *****'));
  });
});
