import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { isRunning } from '../../src/sandbox/processes.ts';
import { inspect } from '../support/inspect.ts';
import { filesOf, type TestEvent, writeAgents } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const takeoverMax = 20_000;
/** An agent that never falls silent: much waits to be recorded when its worker wakes. */
const busy = 'tick 10000 20';

function saidIn(events: readonly TestEvent[]): string[] {
  return events
    .filter(({ source, action }) => source === 'agent' && action === 'message')
    .map(({ args }) => String(args?.['content']));
}

function ticksIn(events: readonly TestEvent[]): number {
  return events.filter(({ content }) => content?.includes('tick')).length;
}

const wasInterrupted = (events: readonly TestEvent[]) =>
  saidIn(events).at(-1)?.includes('You were interrupted');

describe('a worker that sleeps longer than its lease', { timeout: 240_000 }, () => {
  it('loses its conversation to another machine, ends its agent when it wakes, and records nothing any more', async (t) => {
    const { site, serve } = await createWorkerSite('postgres', t);
    const shared = {
      PARLEY_SECRET_KEY: randomBytes(32).toString('hex'),
      SESSION_API_KEY: 'the-key-of-both',
    };
    const dataDir = site.createDir();
    writeAgents(dataDir);
    const sleeper = await serve(shared);
    await sleeper.set({ agent: 'fake' });
    const id = await sleeper.create(busy);
    await until('its agent works', async () => ticksIn(await sleeper.events(id)) > 3);
    const [agent] = (await filesOf(site.storage, id)).agents();
    sleeper.send('SIGSTOP');
    assert.ok(agent !== undefined && isRunning(agent));

    const other = await serve({ ...shared, PARLEY_DATA_DIR: dataDir });
    const log = await until(
      'another goes on with it',
      async () => {
        const events = await other.events(id);
        return wasInterrupted(events) && events;
      },
      takeoverMax,
    );
    assert.ok(log.some(({ message }) => /continues on another machine/.test(message)));
    assert.ok(isRunning(agent));

    sleeper.send('SIGCONT');
    await until('it has ended its agent', () => !isRunning(agent));
    await other.say(id, 'say goodbye');
    const later = await until('the other still has it', async () => {
      const events = await other.events(id);
      return saidIn(events).at(-1) === 'goodbye' && events;
    });
    assert.deepEqual(later.slice(0, log.length), log);
    assert.equal(ticksIn(later), ticksIn(log));
    assert.deepEqual(saidIn(later), [...saidIn(log), 'goodbye']);
    // Nor does it take part in what comes after.
    const [row] = await inspect(site.storage, 'select owner from conversations');
    assert.ok(!String(row?.['owner']).endsWith(`:${sleeper.pid}`));
  });

  it('goes on with its conversation where there is no other, never with two agents', async (t) => {
    const { site, serve } = await createWorkerSite('sqlite', t);
    const sole = await serve();
    await sole.set({ agent: 'fake' });
    const id = await sole.create(busy);
    await until('its agent works', async () => ticksIn(await sole.events(id)) > 3);
    const { agents } = await filesOf(site.storage, id);
    const before = await sole.events(id);
    sole.send('SIGSTOP');
    await until('its lease is over', async () => {
      const [row] = await inspect(site.storage, 'select lease_until from conversations');
      return Number(row?.['lease_until']) < Date.now();
    });
    sole.send('SIGCONT');
    const later = await until(
      'it goes on',
      async () => {
        const events = await sole.events(id);
        return wasInterrupted(events) && events;
      },
      takeoverMax,
    );
    assert.deepEqual(later.slice(0, before.length), before);
    assert.deepEqual(
      agents().map((agent) => [isRunning(agent), agent.beside]),
      [
        [false, []],
        [true, []],
      ],
    );
  });
});
