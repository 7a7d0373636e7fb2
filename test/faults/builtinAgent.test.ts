// The service is killed while the built-in agent works: the next one goes on with the session, and repeats nothing.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import { listenScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { builtinSettings } from '../support/builtinRuns.ts';
import { databaseKinds } from '../support/databases.ts';
import { createModelSwitch } from '../support/modelSwitch.ts';
import { pixel, pixelUrl } from '../support/pixel.ts';
import { filesOf } from '../support/runs.ts';
import { approvalRequest, errorsAndNotices } from '../support/runTalk.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService } from '../support/workers.ts';

const hour = 3_600_000;
const first = { run: 'echo first >>log' };

interface Case {
  readonly script: readonly Step[];
  readonly settings?: object;
  /** Whether it has come so far that the service may be killed. */
  reached(now: { readonly requests: number; readonly workspace: string }): boolean;
  /** What the model is told of each call in the end. */
  readonly results: readonly RegExp[];
  /** The lines of a file that every call adds one to. */
  readonly log: string;
}

const killedIn: Readonly<Record<string, Case>> = {
  'the middle of a call': {
    script: [first, { run: 'echo second >>log; touch begun; sleep 60' }, { say: 'The end.' }],
    reached: ({ workspace }) => existsSync(join(workspace, 'begun')),
    results: [/^\(no output\)$/, /interrupted while this ran, so its outcome is unknown/],
    log: 'first\nsecond\n',
  },
  'between two calls': {
    script: [first, { slow: { firstMs: hour } }, { run: 'echo second >>log' }, { say: 'The end.' }],
    reached: ({ requests }) => requests === 2,
    results: [/^\(no output\)$/, /^\(no output\)$/],
    log: 'first\nsecond\n',
  },
  'the middle of an answer': {
    script: [first, { slow: { betweenMs: hour } }, { say: 'The end.' }],
    reached: ({ requests }) => requests === 2,
    results: [/^\(no output\)$/],
    log: 'first\n',
  },
  'the first request': {
    script: [{ slow: { firstMs: hour } }, first, { say: 'The end.' }],
    reached: ({ requests }) => requests === 1,
    results: [/^\(no output\)$/],
    log: 'first\n',
  },
};

const saidIn = async (service: WorkerService, id: string) =>
  (await service.events(id))
    .filter(({ source, action }) => source === 'agent' && action === 'message')
    .map(({ args }) => args?.['content']);

/** A service on a site of its own, with a model that outlives it. */
async function openScene(kind: (typeof databaseKinds)[number], scripts: Record<string, readonly Step[]>) {
  const cleanups: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void cleanups.unshift(fn) };
  const model = createModelSwitch(scripts);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const { site, serve } = await createWorkerSite(kind, t);
  const start = () => serve({ PARLEY_MODEL_HOSTS: `deepseek=${origin}` });
  const workspaceOf = async (id: string) => join((await filesOf(site.storage, id)).root, 'workspace');
  const logOf = async (id: string) => readFileSync(join(await workspaceOf(id), 'log'), 'utf8');
  const cleanUp = async () => {
    for (const one of cleanups) await one();
  };
  return { model, start, workspaceOf, logOf, cleanUp };
}

for (const kind of databaseKinds)
  describe(`a service on ${kind} that is killed under the built-in agent`, { timeout: 240_000 }, () => {
    const ids = new Map<string, string>();
    let scene: Awaited<ReturnType<typeof openScene>>;
    let next: WorkerService;

    before(async () => {
      const scripts = Object.entries(killedIn).map(([name, { script }]) => [name, script]);
      scene = await openScene(kind, Object.fromEntries(scripts));
      const { model, start, workspaceOf } = scene;
      const service = await start();
      await service.set(builtinSettings);
      for (const name of Object.keys(killedIn)) ids.set(name, await service.create(name));
      for (const [name, { reached }] of Object.entries(killedIn)) {
        const workspace = await workspaceOf(ids.get(name) ?? '');
        await until(`it is in ${name}`, () =>
          reached({ requests: model.of(name).exchanges.length, workspace }),
        );
      }
      service.send('SIGKILL');
      await service.ended();
      next = await start();
    });

    after(() => scene.cleanUp());

    for (const [name, { results, log }] of Object.entries(killedIn))
      it(`goes on where it was in ${name}, and repeats nothing`, async () => {
        const id = ids.get(name) ?? '';
        await next.turns(id, 2);
        assert.equal((await saidIn(next, id)).at(-1), 'The end.');
        assert.equal(await scene.logOf(id), log);
        const { request } = scene.model.of(name).exchanges.at(-1) ?? assert.fail();
        assert.equal(request.results.length, results.length);
        for (const [i, expected] of results.entries()) assert.match(request.results[i] ?? '', expected);
        assert.match(request.prompt, /You were interrupted before you had finished/);
        assert.doesNotMatch(request.prompt, /<history>/, 'the session is the same');
        assert.match(errorsAndNotices(await next.events(id)).join(), /^The agent was interrupted[^,]*$/);
        assert.doesNotMatch(request.prompt, /the same messages/, 'its journal has them');
        await next.say(id, 'More?');
        await next.turns(id, 3);
        assert.equal((await next.info(id)).status, 'RUNNING');
      });
  });

describe('a service that is killed while the built-in agent waits for an answer', {
  timeout: 240_000,
}, () => {
  it('asks again after the start, and has done nothing before', async (t) => {
    const again = { run: 'echo done >>log' };
    const scene = await openScene('sqlite', { asking: [again, again, { say: 'The end.' }] });
    t.after(scene.cleanUp);
    const service = await scene.start();
    await service.set({ ...builtinSettings, confirmation_mode: true });
    const id = await service.create('asking');
    const asked = await approvalRequest(service, id);
    service.send('SIGKILL');
    await service.ended();
    const next = await scene.start();
    const second = await approvalRequest(next, id, 2);
    assert.ok(second.id > asked.id);
    assert.ok(!existsSync(join(await scene.workspaceOf(id), 'log')));
    assert.match(
      scene.model.of('asking').exchanges.at(-1)?.request.results[0] ?? '',
      /Nothing of it was done/,
    );
    assert.match(errorsAndNotices(await next.events(id)).join(), /The approval request has expired/);
    const json = { decision: 'allow', question: second.id };
    assert.equal((await next.ask(`/api/conversations/${id}/confirm`, { json })).status, 200);
    await next.turns(id, 2);
    assert.equal(await scene.logOf(id), 'done\n');
  });
});

const ends = [
  { kind: 'sqlite', signal: 'SIGTERM' },
  { kind: 'postgres', signal: 'SIGKILL' },
] as const;

for (const { kind, signal } of ends)
  describe(`${signal} to a service on ${kind} while a tool server of the built-in agent starts`, {
    timeout: 240_000,
  }, () => {
    it('leaves the messages to the next one, which gives each of them once', async (t) => {
      const scene = await openScene(kind, {
        seasoned: [{ say: 'Ready.' }, { say: 'Done.' }],
        novice: [{ say: 'Done.' }],
      });
      t.after(scene.cleanUp);
      const { model, start, workspaceOf } = scene;
      const service = await start();
      await service.set(builtinSettings);
      const seasoned = await service.create('seasoned');
      await service.turns(seasoned, 1);
      await service.stop(seasoned);
      await service.reaches(seasoned, 'STOPPED');
      const slow = { name: 'slow', command: 'sh', args: ['-c', 'touch slow-server; sleep 300'] };
      await service.set({ mcp_config: { stdio_servers: [slow] } });
      for (const message of ['message A', 'message B', 'message C']) {
        const json = { message, image_urls: message === 'message B' ? [pixelUrl] : [] };
        assert.equal((await service.ask(`/api/conversations/${seasoned}/message`, { json })).status, 200);
      }
      const novice = await service.create('novice');
      for (const id of [seasoned, novice]) {
        const workspace = await workspaceOf(id);
        await until('the turn has begun', async () => {
          const state = (await service.events(id)).at(-1)?.extras?.['agent_state'];
          return state === 'running' && existsSync(join(workspace, 'slow-server'));
        });
      }
      await service.set({ mcp_config: { stdio_servers: [] } });
      service.send(signal);
      await service.ended();
      const next = await start();
      await next.turns(seasoned, 3);
      await next.turns(novice, 2);
      const toldTo = (word: string) => model.of(word).exchanges.at(-1)?.request.prompt ?? '';
      for (const message of ['seasoned', 'message A', 'message B', 'message C'])
        assert.equal(toldTo('seasoned').split(message).length, 2, message);
      assert.equal(toldTo('novice').split('novice').length, 2);
      for (const word of ['seasoned', 'novice'])
        assert.doesNotMatch(toldTo(word), /interrupted|<history>|the same messages/);
      const sessions = join(await workspaceOf(seasoned), '../home/.parley-agent/sessions');
      const journals = readdirSync(sessions).map((name) => readFileSync(join(sessions, name), 'utf8'));
      assert.equal(journals.join('').split(pixel).length, 2, 'the image is there once');
      assert.match(errorsAndNotices(await next.events(seasoned)).join(), /^The agent was interrupted/);
    });
  });
