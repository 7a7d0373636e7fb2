// `parley search`, `archive` and `pin`, as programs use them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const waitMs = 60_000;

describe('parley search, archive and pin', () => {
  it('finds what was said, and marks conversations', async (t) => {
    const service = await startService({}, t);
    const line = createCommandLine(service, t);
    for (const id of ['first-one', 'second-one'])
      await service.ask('/api/conversations', {
        json: { conversation_id: id, initial_user_msg: `Repair the parser of ${id}\u001b[2J` },
      });
    const found = await until(
      'the index',
      async () => {
        const { code, stdout, stderr } = await line.run(['search', 'PARSER', '"of first"']);
        assert.equal(code, 0, stderr);
        return stdout !== '' && stdout;
      },
      waitMs,
    );
    assert.match(found, /first-one\n {2}0 {2}Repair the parser of first-one/);
    assert.ok(!found.includes('\u001b'));
    assert.doesNotMatch(found, /second-one/);
    const [result] = jsonLines((await line.run(['search', '--json', 'pars*', 'first'])).stdout);
    assert.equal(result.matches[0].event_id, 0);
    const none = await line.run(['search', 'absent']);
    assert.deepEqual([none.stdout, none.stderr], ['', 'Nothing was found.\n']);
    assert.equal((await line.run(['search', '!'])).code === 0, false);

    const listed = async (...flags: string[]) =>
      jsonLines((await line.run(['list', '--json', ...flags])).stdout).map((info) => info.conversation_id);
    assert.match((await line.run(['archive', 'first-one'])).stdout, /^Archived: /);
    assert.match((await line.run(['pin', 'second-one'])).stdout, /^Pinned: /);
    assert.deepEqual(await listed('--archived'), ['first-one']);
    assert.deepEqual(await listed('--pinned'), ['second-one']);
    assert.deepEqual(await listed('--unread'), ['second-one', 'first-one']);
    await line.run(['archive', '--undo', 'first-one']);
    await line.run(['pin', '--undo', 'second-one']);
    assert.deepEqual(await listed('--archived'), []);
    assert.deepEqual(await listed('--pinned'), []);
    assert.deepEqual(await listed(), ['second-one', 'first-one']);
  });
});
