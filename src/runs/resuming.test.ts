import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ContentBlock } from '@agentclientprotocol/sdk';
import { hold, isHeld, letGo } from '../../test/fakeAgent/holds.ts';
import { readPrompts } from '../../test/fakeAgent/prompts.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, type Runs, startRuns, type TestEvent } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';

/** What the agent said, turn by turn, in the order of the log. */
function saidIn(events: readonly TestEvent[]): string[] {
  return events
    .filter(({ source, action }) => source === 'agent' && action === 'message')
    .map(({ args }) => String(args?.['content']));
}

const textOf = (block: ContentBlock) => (block.type === 'text' ? block.text : block.type);

async function untilSaid({ events }: Pick<Runs, 'events'>, id: string, text: string): Promise<string[]> {
  return until(`it says ${text}`, async () => {
    const said = saidIn(await events(id));
    return said.at(-1)?.endsWith(text) && said;
  });
}

for (const kind of databaseKinds) {
  describe(`a STOPPED conversation on ${kind}`, { concurrency: 2 }, () => {
    it('resumes its session when it is started, and when it gets a message', async (t) => {
      const runs = await startRuns({ kind }, t);
      const { create, turns, stop, start, reaches, say, info } = runs;
      const id = await create('remember the milk\nsay noted');
      await turns(id, 1);
      await stop(id);
      await reaches(id, 'STOPPED');
      await start(id);
      await reaches(id, 'RUNNING');
      assert.equal((await info(id)).stop_reason, null);
      await say(id, 'recall');
      await untilSaid(runs, id, 'I remember the milk');
      await stop(id);
      await say(id, 'remember eggs\nrecall');
      // Nothing that it said before is said again.
      assert.deepEqual(await untilSaid(runs, id, 'I remember the milk, eggs'), [
        'noted',
        'I remember the milk',
        'I remember the milk, eggs',
      ]);
    });

    it('continues with its history if its agent cannot load a session', async (t) => {
      const runs = await startRuns({ kind, flags: ['--no-load'] }, t);
      const { create, turns, stop, reaches, say } = runs;
      const id = await create('Tell me of whales.');
      await turns(id, 1);
      await stop(id);
      await reaches(id, 'STOPPED');
      await say(id, 'And of seals?');
      await turns(id, 2);
      const last = saidIn(await runs.events(id)).at(-1) ?? '';
      assert.match(last, /<history>\nUser: Tell me of whales\.\n\nYou: You said: Tell me of whales\.\n/);
      assert.match(last, /<\/history>\s*And of seals\?/);
      assert.equal(last.split('And of seals?').length, 2);
    });

    it('starts again after a failure, with the message that it had not answered', async (t) => {
      const runs = await startRuns({ kind, settings: { agent: 'absent' } }, t);
      const { service, create, reaches, start, turns } = runs;
      const id = await create('say hello');
      await reaches(id, 'STOPPED');
      await service.ask('/api/settings', { json: { agent: 'fake' } });
      await start(id);
      assert.deepEqual(await turns(id, 1), ['hello']);
    });

    it('keeps its agent when the settings name another, and a new one takes that', async (t) => {
      const runs = await startRuns({ kind }, t);
      const { service, create, turns, stop, reaches, say } = runs;
      const id = await create('remember the milk\nsay noted');
      await turns(id, 1);
      await stop(id);
      await reaches(id, 'STOPPED');
      await service.ask('/api/settings', { json: { agent: 'absent' } });
      await say(id, 'recall');
      await untilSaid(runs, id, 'I remember the milk');
      const other = await reaches(await create('say hello'), 'STOPPED');
      assert.equal(other.stop_reason?.code, 'agent_missing');
    });

    it('names its agent if that is no longer known, whatever the settings say', async (t) => {
      const storage = await createStorage(kind);
      const first = await startRuns({ storage }, t);
      const id = await first.create('say hello');
      await first.turns(id, 1);
      await first.stop(id);
      await first.reaches(id, 'STOPPED');
      await first.service.stop();
      writeFileSync(join(storage.dataDir, 'agents.json'), '{"agents":[]}');

      const second = await startRuns({ storage, settings: { agent: 'builtin' } }, t);
      t.after(() => storage.remove());
      await second.start(id);
      const { stop_reason: reason } = await second.reaches(id, 'STOPPED');
      assert.equal(reason?.code, 'agent_missing');
      assert.match(reason?.message ?? '', /^This conversation keeps its agent.*no agent named "fake"/);
    });
  });

  describe(`a conversation in mid-turn on ${kind}`, () => {
    it('keeps its agent when the service starts again and the settings name another', async (t) => {
      const storage = await createStorage(kind);
      const first = await startRuns({ storage }, t);
      const id = await first.create('remember the milk\nsay noted\nrun echo done\nhang');
      await untilSaid(first, id, 'noted');
      await first.service.ask('/api/settings', { json: { agent: 'absent' } });
      await first.service.stop();

      const second = await startRuns({ storage, settings: { agent: 'absent' } }, t);
      t.after(() => storage.remove());
      await second.turns(id, 2);
      await second.say(id, 'recall');
      await untilSaid(second, id, 'I remember the milk');
    });
  });

  describe(`a conversation on ${kind} that is stopped in the middle of a turn`, { concurrency: 2 }, () => {
    it('repeats the messages, marked, and the start of the session, if its agent may lack them', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create(undefined, { conversation_instructions: 'Be brief.' });
      await runs.reaches(id, 'RUNNING');
      const { home } = await filesOf(runs.service.storage, id);
      hold(home, 'prompt');
      await runs.say(id, 'say A');
      await until('the agent has not noted it', () => isHeld(home, 'prompt'));
      await runs.stop(id);
      await until('its agent has ended', async () => {
        const [row] = await inspect(runs.service.storage, 'select run_id from conversations');
        return row?.['run_id'] === null;
      });
      letGo(home, 'prompt');
      await runs.say(id, 'say B');
      await untilSaid(runs, id, 'B');
      const [first, second] = readPrompts(home).map(({ blocks }) => blocks.map(textOf));
      assert.deepEqual(first?.slice(1), ['say A']);
      assert.match(first?.[0] ?? '', /Be brief/);
      assert.equal(second?.[0], first?.[0]);
      assert.match(second?.[1] ?? '', /you were stopped.*no new request/);
      assert.deepEqual(second?.slice(2), ['> say A', 'say B']);
    });

    it('repeats nothing if its agent has ended the turn', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('run-forever sleep\nhang');
      await until('it works', async () => (await runs.events(id)).at(-1)?.action === 'run');
      await runs.stop(id);
      await runs.say(id, 'say B');
      await untilSaid(runs, id, 'B');
      const { home } = await filesOf(runs.service.storage, id);
      assert.deepEqual(
        readPrompts(home).map(({ blocks }) => blocks.map(textOf)),
        [['run-forever sleep\nhang'], ['say B']],
      );
    });
  });

  describe(`messages to a working agent on ${kind}`, { concurrency: 2 }, () => {
    it('wait for the next turn; none is lost, none is repeated', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say begun\nsleep 600');
      await runs.reaches(id, 'RUNNING');
      const words = Array.from({ length: 8 }, (_, i) => `word ${i}`);
      for (const word of words) await runs.say(id, `say ${word}`);
      const said = await untilSaid(runs, id, 'word 7');
      assert.deepEqual(
        said.flatMap((text) => text.match(/begun|word \d/g) ?? []),
        ['begun', ...words],
      );
    });

    it('also wait while it starts, and while it is being stopped', async (t) => {
      const runs = await startRuns({ kind, flags: ['--slow-start', '300'] }, t);
      const id = await runs.create();
      for (const word of ['one', 'two']) await runs.say(id, `say ${word}`);
      await untilSaid(runs, id, 'two');
      await runs.say(id, 'ignore-cancel');
      await until('it works', async () => {
        const last = (await runs.events(id)).at(-1);
        return last?.extras?.['agent_state'] === 'running';
      });
      await runs.stop(id);
      await runs.say(id, 'say three');
      const said = await untilSaid(runs, id, 'three');
      // What came together was one turn.
      assert.equal(said.join(''), 'onetwothree');
    });
  });
}
