import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { startRuns } from '../../test/support/runs.ts';

for (const kind of databaseKinds) {
  describe(`a run on ${kind}`, () => {
    it('takes a new conversation to RUNNING, gives the agent its message, and waits for the next', async (t) => {
      const { create, reaches, turns, say } = await startRuns({ kind }, t);
      const id = await create('say hello');
      await reaches(id, 'RUNNING');
      assert.deepEqual(await turns(id, 1), ['hello']);
      await say(id, 'say more');
      assert.deepEqual(await turns(id, 2), ['hello', 'more']);
    });

    it('waits for a message if it was created without one', async (t) => {
      const { create, turns, say, events, reaches } = await startRuns({ kind }, t);
      const id = await create();
      await reaches(id, 'RUNNING');
      const states = (await events(id)).map(({ extras }) => extras?.['agent_state']);
      assert.deepEqual(states, ['loading', 'awaiting_user_input']);
      await say(id, 'say hello');
      assert.deepEqual(await turns(id, 1), ['hello']);
    });
  });
}
