import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Params } from '../../agents/acp/peer.ts';
import type { Policy } from '../../agents/acp/permissions.ts';
import type { RunEnd } from '../runEnd.ts';
import { createActionGuard } from './actionGuard.ts';

const asking: Policy = { confirmationMode: true, securityAnalyzer: null, forced: false };
const run = { toolCallId: 'c1', kind: 'execute', title: 'rm a', rawInput: { command: 'rm a' } };

function guardOf({ policy = asking, always = [] as string[], withinMs = 60_000 } = {}) {
  const unasked = Promise.withResolvers<RunEnd>();
  const guard = createActionGuard({ policy: () => policy, always, onUnapproved: unasked.resolve, withinMs });
  const codes = (...updates: Params[]) =>
    updates.map((update) => guard.take({ toolCallId: 'c1', ...update })?.reason.code);
  return { guard, codes, unasked: unasked.promise };
}

describe('an agent whose user approves what it does', () => {
  for (const kind of ['edit', 'delete', 'move', 'execute'])
    it(`must not end a call of the kind ${kind} that nobody allowed`, () => {
      const { codes } = guardOf();
      assert.deepEqual(codes({ kind, status: 'pending' }, { status: 'completed' }), [
        undefined,
        'unconfirmed_action',
      ]);
    });

  for (const kind of ['read', 'search', 'fetch', 'think', 'other', undefined])
    it(`may end a call of the kind ${kind} without asking`, () => {
      const { codes } = guardOf();
      assert.deepEqual(codes({ kind, status: 'in_progress' }, { status: 'completed' }), [
        undefined,
        undefined,
      ]);
    });

  const change = [{ type: 'diff', path: '/w/a', oldText: null, newText: 'x' }];
  const carried: Readonly<Record<string, readonly [Params, RegExp]>> = {
    'a command': [{ rawInput: { command: 'rm a' } }, /ran something.*: rm a\./],
    'a command in words': [{ rawInput: { cmd: ['rm', 'a'] } }, /ran something.*: rm a\./],
    'a diff': [{ content: change, title: 'a' }, /edited something/],
    'a text for a file': [{ rawInput: { file_path: 'a', content: '' }, title: 'a' }, /edited something/],
    'an edit of a file': [{ rawInput: { path: 'a', old_text: 'x', new_text: 'y' } }, /edited something/],
  };
  for (const [name, [fields, message]] of Object.entries(carried))
    for (const kind of ['other', 'read', 'think', undefined])
      it(`must not end a call of the kind ${kind} that carries ${name} without asking`, () => {
        const { guard, codes } = guardOf();
        const update = { toolCallId: 'c1', kind, ...fields };
        guard.take({ ...update, status: 'pending' });
        assert.match(guard.take({ toolCallId: 'c1', status: 'completed' })?.reason.message ?? '', message);
        const asked = { ...update, toolCallId: 'c2' };
        guard.requestOpened(asked);
        guard.requestAnswered(asked, 'allowed', 'high');
        assert.deepEqual(codes({ ...asked, status: 'completed' }), [undefined]);
      });

  it('may read a file and send its text', () => {
    const { codes } = guardOf();
    const content = [{ type: 'content', content: { type: 'text', text: 'x' } }];
    const read = { kind: 'read', rawInput: { path: 'a', limit: 5 }, content };
    assert.deepEqual(codes({ ...read, status: 'completed' }), [undefined]);
  });

  it('is reported with what it did', () => {
    const { guard } = guardOf();
    const { message } = guard.take({ ...run, status: 'completed' })?.reason ?? {};
    assert.match(message ?? '', /ran something that nobody had approved.*: rm a\./);
  });

  it('may do what was approved, once, under the same id or another', () => {
    const { guard, codes } = guardOf();
    guard.requestOpened(run);
    guard.requestAnswered(run, 'allowed', 'high');
    assert.deepEqual(codes({ ...run, status: 'in_progress' }, { status: 'completed' }), [
      undefined,
      undefined,
    ]);
    const other = { ...run, toolCallId: 'c2' };
    guard.requestOpened(other);
    guard.requestAnswered(other, 'allowed', 'high');
    assert.deepEqual(codes({ ...run, toolCallId: 'c3', status: 'completed' }), [undefined]);
    assert.deepEqual(codes({ ...run, toolCallId: 'c4', status: 'completed' }), ['unconfirmed_action']);
  });

  it('must not do what was rejected, or what still needs approval', () => {
    const { guard, codes } = guardOf();
    guard.requestOpened(run);
    assert.deepEqual(codes({ ...run, status: 'completed' }), ['unconfirmed_action']);
    guard.requestAnswered(run, 'refused', 'high');
    assert.deepEqual(codes({ ...run, status: 'completed' }), ['unconfirmed_action']);
  });

  it('must not run another command than the approved one', () => {
    const { guard, codes } = guardOf();
    guard.requestOpened(run);
    guard.requestAnswered(run, 'allowed', 'high');
    assert.deepEqual(codes({ rawInput: { command: 'rm b' }, status: 'completed' }), ['unconfirmed_action']);
  });

  it('must not do more in a call than was approved', () => {
    const { guard, codes } = guardOf();
    const read = { toolCallId: 'c1', kind: 'read', title: 'Read' };
    guard.requestOpened(read);
    guard.requestAnswered(read, 'allowed', 'low');
    assert.deepEqual(codes({ status: 'completed' }, { kind: 'execute' }), [undefined, 'unconfirmed_action']);
  });

  it('may fail without asking, but not with the exit code of a command', () => {
    const { codes } = guardOf();
    assert.deepEqual(codes({ ...run, status: 'failed' }), [undefined]);
    const ended = { toolCallId: 'c2', status: 'failed', rawOutput: { exitCode: 1 } };
    assert.deepEqual(codes({ ...run, ...ended }), ['unconfirmed_action']);
  });

  it('may do what its user always allows, also from an earlier run', () => {
    const { guard, codes } = guardOf({ always: ['edit'] });
    assert.deepEqual(codes({ kind: 'edit', status: 'completed' }), [undefined]);
    guard.requestOpened({ ...run, toolCallId: 'c2' });
    guard.requestAnswered({ ...run, toolCallId: 'c2' }, 'allowed_always', 'high');
    assert.deepEqual(guard.alwaysAllowed(), ['edit', 'execute']);
    assert.deepEqual(codes({ ...run, toolCallId: 'c3', status: 'completed' }), [undefined]);
    assert.deepEqual(codes({ toolCallId: 'c4', kind: 'delete', status: 'completed' }), [
      'unconfirmed_action',
    ]);
  });

  it('must follow the policy', () => {
    const off = guardOf({ policy: { ...asking, confirmationMode: false } });
    assert.deepEqual(off.codes({ ...run, status: 'completed' }), [undefined]);
    const analyzed = guardOf({ policy: { ...asking, securityAnalyzer: 'some' } });
    const edit = { toolCallId: 'c2', kind: 'edit', status: 'completed' };
    assert.deepEqual(analyzed.codes(edit, { ...run, status: 'completed' }), [
      undefined,
      'unconfirmed_action',
    ]);
    const forced = guardOf({ policy: { ...asking, confirmationMode: false, forced: true } });
    assert.deepEqual(forced.codes(edit), ['unconfirmed_action']);
  });

  it('may report a call as in progress before it asks, but not continue it for long', async () => {
    const { guard, codes, unasked } = guardOf({ withinMs: 1 });
    assert.deepEqual(codes({ ...run, status: 'in_progress' }), [undefined]);
    assert.equal((await unasked).reason.code, 'unconfirmed_action');
    const patient = guardOf();
    patient.codes({ ...run, status: 'in_progress' });
    patient.guard.requestOpened(run);
    patient.guard.requestAnswered(run, 'allowed', 'high');
    assert.deepEqual(patient.codes({ status: 'completed' }), [undefined]);
    guard.close();
  });

  it('is watched however many calls it makes', () => {
    const { codes } = guardOf();
    for (let i = 0; i < 5_000; i++) codes({ toolCallId: `r${i}`, kind: 'read', status: 'completed' });
    assert.deepEqual(codes({ ...run, status: 'completed' }), ['unconfirmed_action']);
  });
});
