import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startAgentBench } from '../../test/support/agentBench.ts';

const long = 'x'.repeat(3_000);
const script = [
  { run: `echo ${long}` },
  { run: `echo ${long}` },
  { run: `echo ${long}` },
  { say: 'Done.' },
] as const;

describe('a history that becomes long', () => {
  // The scripted model counts what it is sent by results, of which condensing takes some away: what it does then is
  // begin again, so that only the notes are looked at here.
  it('gives way to notes of the model where condensing is on', async (t) => {
    const bench = await startAgentBench(t, { script, condenses: true, current: { context: 100 } });
    await bench.open();
    void bench.prompt('The task is to find the needle.');
    const { until } = await import('../../test/support/until.ts');
    const noted = await until('notes were asked for', async () =>
      bench.model.exchanges.find(({ asked }) => /Take notes/.test(asked.told)),
    );
    assert.match(noted.asked.told, /find the needle/);
    assert.equal(noted.asked.tools.length, 0);
    const after = await until('it went on with them', async () =>
      bench.model.exchanges.find(({ asked }) => /<notes>\nScripted\./.test(asked.told)),
    );
    assert.match(after.asked.told, /<first_message>\nuser: The task is to find the needle/);
    await bench.cancel();
  });

  it('stays as it is where condensing is off', async (t) => {
    const bench = await startAgentBench(t, { script, current: { context: 100 } });
    await bench.open();
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(bench.model.exchanges.length, 4);
  });
});
