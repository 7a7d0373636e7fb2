import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isRunning, type KnownProcess, knownProcess } from '../../src/sandbox/processes.ts';
import { databaseKinds } from '../support/databases.ts';
import { commit, startGitServer } from '../support/gitServer.ts';
import { inspect } from '../support/inspect.ts';
import { filesOf, type TestEvent } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService } from '../support/workers.ts';

const takeoverMax = 20_000;

interface Step {
  readonly message: string;
  readonly more?: Record<string, unknown>;
  /** Settings under which it is created. */
  readonly settings?: Record<string, unknown>;
  /** Whether it has come so far that the worker may be killed. */
  reached(now: { readonly events: readonly TestEvent[]; readonly home: string }): boolean;
  /** What the agent of the next worker says, before it is asked anything. */
  readonly said: RegExp;
  /** What the log must say of the takeover. */
  readonly notice?: RegExp;
}

const stateOf = (events: readonly TestEvent[]) => events.at(-1)?.extras?.['agent_state'];
const isThere = (home: string, name: string) => existsSync(join(home, name));

const steps: Readonly<Record<string, Step>> = {
  'while its workspace is prepared': {
    message: 'cat README.md',
    more: { repository: 'acme/site', git_provider: 'github' },
    reached: () => true,
    said: /^made by a test$/,
  },
  'after its agent has started, before its session is open': {
    message: 'say first',
    settings: { agent: 'slow' },
    reached: ({ home }) => isThere(home, 'starts.jsonl'),
    said: /^first$/,
  },
  'while it waits for a message': {
    message: 'say first',
    reached: ({ events }) => stateOf(events) === 'awaiting_user_input',
    said: /^first$/,
  },
  'in the middle of a turn': {
    message: 'say first\nspawn-child\nhang',
    reached: ({ home }) => isThere(home, 'child.pid'),
    said: /You said: You were interrupted.*\n.*the same messages.*\n> say first\n> spawn-child\n> hang$/,
    notice: /The agent was interrupted/,
  },
  'while a question waits': {
    message: 'ask delete everything',
    settings: { confirmation_mode: true },
    reached: ({ events }) => events.at(-1)?.args?.['confirmation_state'] === 'awaiting_confirmation',
    said: /You said: You were interrupted.*\n.*the same messages.*\n> ask delete everything$/,
    notice: /The approval request has expired/,
  },
  'right after the claim': {
    message: 'say first',
    reached: () => true,
    said: /^first$/,
  },
};

const usual = { agent: 'fake', confirmation_mode: false };

function saidBy(source: string, events: readonly TestEvent[]): string[] {
  return events
    .filter((event) => event.source === source && event.action === 'message')
    .map(({ args }) => String(args?.['content']));
}

/** A worker that sleeps longer than its lease is as lost as one that was killed, and then comes back. */
const faults = { 'is killed': 'SIGKILL', 'sleeps past its lease': 'SIGSTOP' } as const;
const cases = databaseKinds.flatMap((kind) =>
  Object.entries(faults).map(([name, signal]) => ({ kind, name, signal })),
);

for (const { kind, name: fault, signal } of cases) {
  describe(`a worker on ${kind} that ${fault}`, { timeout: 240_000 }, () => {
    const ids = new Map<string, string>();
    const logsBefore = new Map<string, readonly TestEvent[]>();
    const left: KnownProcess[] = [];
    const cleanups: (() => Promise<void>)[] = [];
    let next: WorkerService;
    let wake: () => Promise<void>;
    let files: (id: string) => ReturnType<typeof filesOf>;

    after(async () => {
      for (const cleanUp of cleanups) await cleanUp();
    });

    before(async () => {
      const t = { after: (fn: () => Promise<void>) => void cleanups.unshift(fn) };
      const opened = Promise.withResolvers<void>();
      const git = await startGitServer(t, { opened: opened.promise });
      commit(git.repository('acme/site'), 'main', { 'README.md': 'made by a test' });
      const { site, serve } = await createWorkerSite(kind, t);
      files = (id) => filesOf(site.storage, id);
      const env = { PARLEY_GIT_HOSTS: `github=${git.url}` };
      const first = await serve(env);
      const second = kind === 'postgres' ? await serve(env) : undefined;
      // It must not take any of them before the first is dead.
      second?.send('SIGSTOP');

      for (const [name, { message, more, settings, reached }] of Object.entries(steps)) {
        await first.set({ ...usual, ...settings });
        const id = await first.create(message, more);
        ids.set(name, id);
        await until(`it is claimed: ${name}`, async () => {
          const [row] = await inspect(site.storage, `select run_id from conversations where id = '${id}'`);
          return row?.['run_id'] !== null;
        });
        if (more !== undefined) await until('it is cloned', () => git.requests.length > 0);
        const { home } = await files(id);
        if (name !== 'right after the claim')
          await until(`it is ${name}`, async () => reached({ events: await first.events(id), home }));
      }
      first.send(signal);
      for (const id of ids.values()) {
        const { agents, home } = await files(id);
        left.push(...agents());
        if (isThere(home, 'child.pid'))
          left.push(knownProcess(Number(readFileSync(join(home, 'child.pid'), 'utf8'))));
      }
      const asleep = signal === 'SIGSTOP';
      if (asleep) {
        await until('all of its leases are over', async () => {
          const rows = await inspect(
            site.storage,
            'select lease_until from conversations where run_id is not null',
          );
          return rows.every((row) => Number(row['lease_until']) < Date.now());
        });
        cleanups.unshift(async () => void first.send('SIGCONT'));
      }
      second?.send('SIGCONT');
      opened.resolve();
      // Who has SQLite alone goes on with it when it wakes.
      if (asleep && second === undefined) first.send('SIGCONT');
      next = second ?? (asleep ? first : await serve(env));
      wake = async () => {
        if (asleep) first.send('SIGCONT');
      };
      for (const [name, id] of ids) logsBefore.set(name, await next.events(id));
    });

    for (const [name, { message, said, notice }] of Object.entries(steps))
      it(`leaves a conversation to another that goes on with it: ${name}`, async () => {
        const id = ids.get(name) ?? '';
        await until(
          'another has it',
          async () => {
            const { status, stop_reason: reason } = await next.info(id);
            assert.notEqual(status, 'STOPPED', JSON.stringify(reason));
            const events = await next.events(id);
            return (
              stateOf(events) === 'awaiting_user_input' && said.test(saidBy('agent', events).at(-1) ?? '')
            );
          },
          takeoverMax,
        );
        await next.say(id, 'say second');
        const events = await until('it answers', async () => {
          const all = await next.events(id);
          return saidBy('agent', all).at(-1) === 'second' && stateOf(all) === 'awaiting_user_input' && all;
        });
        const { status, runtime_status: doing } = await next.info(id);
        assert.deepEqual([status, doing], ['RUNNING', 'STATUS$READY']);
        assert.deepEqual(saidBy('user', events), [message, 'say second']);
        const earlier = logsBefore.get(name) ?? [];
        assert.deepEqual(events.slice(0, earlier.length), earlier);
        if (notice !== undefined) assert.ok(events.some((event) => notice.test(event.message)));
      });

    it('leaves nothing alive, and never two agents of one conversation', async () => {
      await wake();
      await until('all of it is dead', () => !left.some(isRunning));
      assert.ok(left.length > 4);
      for (const id of ids.values())
        for (const { beside } of (await files(id)).agents()) assert.deepEqual(beside, []);
    });
  });
}
