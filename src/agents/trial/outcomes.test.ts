import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../../test/support/sandboxes.ts';
import { trialOutcomes } from './outcomes.ts';

function faultsOf(workspace: string): Record<string, boolean> {
  const outcomes = trialOutcomes({
    model: 'm',
    workspace,
    exchanges: [],
    said: '',
    instructions: undefined,
  });
  return Object.fromEntries(outcomes.map(({ name, fault }) => [name, fault !== undefined]));
}

const text = 'written by the agent';

describe('the outcomes of a trial', () => {
  it('are read from files that the agent has created, not from targets of links', (t) => {
    const workspace = temporaryFolder(t);
    const elsewhere = join(temporaryFolder(t), 'file');
    writeFileSync(elsewhere, text);
    writeFileSync(join(workspace, 'written.txt'), `${text}\n`);
    symlinkSync(elsewhere, join(workspace, 'copied.txt'));
    const faults = faultsOf(workspace);
    assert.deepEqual([faults['writes a file'], faults['runs a command']], [false, true]);
  });

  it('are faults if a file is too large or a folder', (t) => {
    const workspace = temporaryFolder(t);
    writeFileSync(join(workspace, 'written.txt'), ' '.repeat(2_000) + text);
    mkdirSync(join(workspace, 'copied.txt'));
    const faults = faultsOf(workspace);
    assert.deepEqual([faults['writes a file'], faults['runs a command']], [true, true]);
  });
});
