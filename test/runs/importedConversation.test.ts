// A conversation of a V0 server goes on in Parley.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { startRuns } from '../support/runs.ts';
import { v0Metadata, writeV0Conversation } from '../support/v0FileStore.ts';

describe('an imported conversation', () => {
  it('is resumed by a message, and the agent knows its history', async (t) => {
    const runs = await startRuns({}, t);
    const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    // The fake agent has no repository to clone.
    const metadata = v0Metadata('old', {
      selected_repository: null,
      selected_branch: null,
      git_provider: null,
    });
    writeV0Conversation(join(folder, 'sessions/old'), 'old', { metadata });
    const { code, stderr } = await createCommandLine(runs.service, t).run(['import', 'v0', folder]);
    assert.equal(code, 0, stderr);

    await runs.say('old', 'now go on');
    const [said = ''] = await runs.turns('old', 1);
    assert.match(
      said,
      /<history>\nUser: Task of old\n\n.*You ran: ls\nIt gave: a\.txt\n<\/history>.*now go on$/s,
    );
    const events = await runs.events('old');
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, i) => i),
      'the log goes on without gaps',
    );
    assert.equal(events[6]?.args?.['content'], 'now go on');
  });
});
