// The user cancels a turn of the built-in agent.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startBuiltin } from '../../test/support/builtinRuns.ts';
import { filesOf } from '../../test/support/runs.ts';
import { approvalRequest } from '../../test/support/runTalk.ts';
import { until } from '../../test/support/until.ts';
import { isRunning, knownProcess } from '../sandbox/processes.ts';

describe('a cancelled turn of the built-in agent', () => {
  it('ends its command, and the agent knows that in its next turn', async (t) => {
    const script = [{ run: 'echo $$ >shell; sleep 600' }, { say: 'I see.' }];
    const runs = await startBuiltin(t, script);
    const id = await runs.create('go');
    const { root } = await filesOf(runs.service.storage, id);
    const file = join(root, 'workspace', 'shell');
    await until('the command runs', () => existsSync(file) && readFileSync(file, 'utf8') !== '');
    const shell = knownProcess(Number(readFileSync(file, 'utf8')));
    await runs.cancel(id);
    await until('its command is dead', () => !isRunning(shell));
    await runs.turns(id, 1);
    assert.ok((await runs.events(id)).some(({ extras }) => extras?.['notice_id'] === 'CANCELLED'));
    await runs.say(id, 'What happened?');
    assert.deepEqual(await runs.turns(id, 2), ['I see.']);
    assert.match(runs.model.exchanges.at(-1)?.request.results[0] ?? '', /stopped by the user/);
    assert.equal((await runs.info(id)).status, 'RUNNING');
  });

  it('rejects what it asks for', async (t) => {
    const script = [{ run: 'echo x >log' }, { say: 'I see.' }];
    const runs = await startBuiltin(t, script, { settings: { confirmation_mode: true } });
    const id = await runs.create('go');
    await approvalRequest(runs, id);
    await runs.cancel(id);
    await until('it is cancelled', async () =>
      (await runs.events(id)).some(({ extras }) => extras?.['notice_id'] === 'CANCELLED'),
    );
    const { root } = await filesOf(runs.service.storage, id);
    assert.ok(!existsSync(join(root, 'workspace', 'log')));
    await runs.say(id, 'And now?');
    await until('it says so', async () =>
      (await runs.events(id)).some(({ args }) => args?.['content'] === 'I see.'),
    );
  });
});
