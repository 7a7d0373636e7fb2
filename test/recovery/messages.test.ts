// Messages wait, the service ends at the worst moments, and another takes over: what has really reached the agent?
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { hold, isHeld, letGo, type Moment, moments } from '../fakeAgent/holds.ts';
import { hasAnswered, readPrompts } from '../fakeAgent/prompts.ts';
import { databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { pixelUrl } from '../support/pixel.ts';
import type { Site } from '../support/process.ts';
import { filesOf, type TestEvent } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService } from '../support/workers.ts';

const takeoverMax = 20_000;

interface Case {
  /** Where the agent waits when the service ends. */
  readonly holdsAt?: Moment;
  readonly lastMessage?: string;
  /** Whether it has come so far that the service may end. */
  reached(now: {
    readonly home: string;
    readonly events: readonly TestEvent[];
    readonly doing: unknown;
  }): boolean;
  /** How often each message is a request, and how often it is repeated as the same one, per signal. */
  readonly expected: Readonly<
    Record<'SIGTERM' | 'SIGKILL', { readonly asked: number; readonly repeated: number }>
  >;
}

const once = { asked: 1, repeated: 0 };
const onceAndRepeated = { asked: 1, repeated: 1 };

const recordHeld = 'between the end of a turn and its record';

const cases: Readonly<Record<string, Case>> = {
  'while its agent starts': {
    holdsAt: 'start',
    reached: ({ home }) => isHeld(home, 'start'),
    expected: { SIGTERM: once, SIGKILL: once },
  },
  'before its agent has noted the messages': {
    holdsAt: 'prompt',
    reached: ({ home }) => isHeld(home, 'prompt'),
    expected: { SIGTERM: onceAndRepeated, SIGKILL: onceAndRepeated },
  },
  'in the middle of a turn': {
    lastMessage: 'run-forever npm test\nhang',
    reached: ({ events }) => events.at(-1)?.action === 'run',
    expected: { SIGTERM: onceAndRepeated, SIGKILL: onceAndRepeated },
  },
  // The end of the turn is not recorded, since nobody can write at that moment.
  [recordHeld]: {
    holdsAt: 'answer',
    reached: ({ home }) => isHeld(home, 'answer'),
    expected: { SIGTERM: once, SIGKILL: onceAndRepeated },
  },
  // All slots are taken by the others.
  'before a worker has it': {
    reached: ({ doing }) => doing === 'waiting_for_worker',
    expected: { SIGTERM: once, SIGKILL: once },
  },
};

const messagesOf = ({ lastMessage = 'say three' }: Case) => ['say one', 'image-count', lastMessage];

/** Keeps everybody else from writing to the conversation, until it is called again. */
async function lockWrites({ storage }: Site, id: string): Promise<() => Promise<void>> {
  if (storage.databaseUrl === undefined) {
    const database = new DatabaseSync(join(storage.dataDir, 'parley.db'), { timeout: 5_000 });
    database.exec('begin immediate');
    return async () => database.close();
  }
  const client = new pg.Client({ connectionString: storage.databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('select 1 from conversations where id = $1 for update', [id]);
  return () => client.end();
}

const stateOf = (events: readonly TestEvent[]) => events.at(-1)?.extras?.['agent_state'];
const isInterruption = ({ extras }: TestEvent) => extras?.['notice_id'] === 'INTERRUPTED';

/** Actions with the outcomes that the log has for each. */
function outcomesOf(events: readonly TestEvent[]): unknown[][] {
  return events
    .filter(({ action, tool_call_id }) => action !== undefined && tool_call_id !== undefined)
    .map(({ id, tool_call_id }) =>
      events
        .filter((one) => one.id > id && one.observation !== undefined && one.tool_call_id === tool_call_id)
        .map(({ extras }) => extras?.['outcome']),
    );
}

/** A service whose conversations are each at the moment that its case names. */
async function openScene(kind: DatabaseKind, cleanups: (() => Promise<void>)[]) {
  const t = { after: (fn: () => Promise<void>) => void cleanups.unshift(fn) };
  const { site, serve } = await createWorkerSite(kind, t);
  const homeOf = async (id: string) => (await filesOf(site.storage, id)).home;
  const service = await serve({ PARLEY_SLOTS: String(Object.keys(cases).length - 1) });
  await service.set({ agent: 'fake' });
  const ids = new Map<string, string>();
  // All have had a turn before, and were stopped.
  for (const name of Object.keys(cases)) {
    const id = await service.create('say ready');
    ids.set(name, id);
    await service.turns(id, 1);
    await service.stop(id);
    await until('its run has ended', async () => {
      const [row] = await inspect(site.storage, `select run_id from conversations where id = '${id}'`);
      return row?.['run_id'] === null;
    });
  }
  for (const [name, one] of Object.entries(cases)) {
    const id = ids.get(name) ?? '';
    const home = await homeOf(id);
    // All three are there before its agent is.
    hold(home, 'start');
    for (const [i, message] of messagesOf(one).entries()) {
      const json = { message, image_urls: i === 1 ? [pixelUrl] : [] };
      assert.equal((await service.ask(`/api/conversations/${id}/message`, { json })).status, 200);
    }
    if (one.holdsAt !== undefined && one.holdsAt !== 'start') hold(home, one.holdsAt);
    if (one.holdsAt !== 'start') letGo(home, 'start');
    await until(`it is ${name}`, async () => {
      const doing = (await service.info(id)).start_progress?.step ?? null;
      return one.reached({ home, events: await service.events(id), doing });
    });
  }
  const letAllGo = async () => {
    for (const id of ids.values()) for (const moment of moments) letGo(await homeOf(id), moment);
  };
  return { site, serve, service, ids, homeOf, letAllGo };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** Ends the service while the end of one turn waits to be recorded. */
async function end({ site, service, ids, homeOf }: Scene, signal: NodeJS.Signals): Promise<void> {
  const id = ids.get(recordHeld) ?? '';
  const home = await homeOf(id);
  rmSync(join(home, 'answered'), { force: true });
  const unlock = await lockWrites(site, id);
  letGo(home, 'answer');
  await until('the agent has answered', () => hasAnswered(home));
  // Whoever answers this has read what came before.
  await service.ask('/alive');
  service.send(signal);
  await unlock();
  await service.ended();
}

for (const kind of databaseKinds)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    describe(`messages to a service on ${kind} that gets ${signal}`, { timeout: 240_000 }, () => {
      const cleanups: (() => Promise<void>)[] = [];
      let scene: Scene;
      let next: WorkerService;

      after(async () => {
        for (const cleanUp of cleanups) await cleanUp();
      });

      before(async () => {
        scene = await openScene(kind, cleanups);
        const { serve, ids, homeOf, letAllGo } = scene;
        await end(scene, signal);
        await letAllGo();
        // The one that takes over ends, too, before it has done anything.
        const homes = await Promise.all([...ids.values()].map(homeOf));
        for (const home of homes) hold(home, 'start');
        const env = { PARLEY_SLOTS: String(homes.length) };
        const second = await serve(env);
        const waits = () => homes.every((home) => isHeld(home, 'start'));
        await until('all agents start again', waits, takeoverMax);
        second.send(signal);
        await second.ended();
        await letAllGo();
        next = await serve(env);
      });

      for (const [name, one] of Object.entries(cases)) {
        const { asked, repeated } = one.expected[signal];

        it(`reach the agent once: ${name}`, async () => {
          const id = scene.ids.get(name) ?? '';
          const home = await scene.homeOf(id);
          const texts = () =>
            readPrompts(home).flatMap(({ blocks }) =>
              blocks.map((block) => (block.type === 'text' ? block.text : block.type)),
            );
          const count = (text: string) => texts().filter((one) => one === text).length;
          const quoted = (text: string) => text.replaceAll(/^/gm, '> ');
          await until(
            'the agent has had them and waits',
            async () =>
              stateOf(await next.events(id)) === 'awaiting_user_input' &&
              count('say one') >= asked &&
              count('> say one') >= repeated,
            takeoverMax,
          );
          for (const message of messagesOf(one)) {
            assert.equal(count(message), asked, message);
            assert.equal(count(quoted(message)), repeated, `repeated: ${message}`);
          }
          const all = texts();
          for (const [i, text] of all.entries())
            if (text.endsWith('image-count')) assert.equal(all[i + 1], 'image');
          const said = (await next.events(id)).filter((e) => e.source === 'user' && e.action === 'message');
          assert.deepEqual(
            said.map(({ message }) => message),
            ['say ready', ...messagesOf(one)],
          );
        });

        it(`leave a log that is whole: ${name}`, async () => {
          const events = await next.events(scene.ids.get(name) ?? '');
          assert.equal(events.filter(isInterruption).length, repeated, 'told once of each interruption');
          const expected = one.lastMessage === undefined ? [] : [['unfinished']];
          assert.deepEqual(outcomesOf(events), expected);
        });
      }
    });
