// Uncaught errors in the real program: the run that causes one ends, others go on, and the service stops gracefully
// where it does not know whose error it is.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { mainFile } from '../support/program.ts';
import { errorsAndNotices } from '../support/runTalk.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const poisonUrl = new URL('../support/poison.ts', import.meta.url).href;
const poisoned = { NODE_OPTIONS: `--import=${poisonUrl}` };

it('is attributed to its run, whichever kind of callback it comes from', () => {
  const program = fileURLToPath(new URL('../support/throwEverywhere.ts', import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 240_000 });
  assert.equal(status, 0);
  const lines = stdout.trim().split('\n').toSorted();
  const kinds = [
    'abort',
    'async',
    'child',
    'emitter',
    'exit',
    'immediate',
    'interval',
    'microtask',
    'rejection',
  ];
  const more = ['request', 'socket', 'spawn', 'tick', 'timeout'];
  const expected = [...kinds, ...more].map((kind) => `${kind}: ${kind}`);
  assert.deepEqual(lines, [...expected, 'nobody: none'].toSorted());
});

for (const kind of databaseKinds)
  describe(`an uncaught error, on ${kind}`, () => {
    it('ends the run that it belongs to and starts it again, and stops the conversation at the second', async (t) => {
      const { serve, site } = await createWorkerSite(kind, t, mainFile);
      const service = await serve(poisoned);
      await service.set({ agent: 'fake' });
      const other = await service.create('say one');
      await service.turns(other, 1);
      const bad = await service.create('poison-the-run\nhang');
      const { stop_reason: reason } = await service.reaches(bad, 'STOPPED');
      assert.equal(reason?.code, 'agent_error');
      assert.match(reason?.message ?? '', /internal error ended this run again/);
      const log = errorsAndNotices(await service.events(bad));
      assert.deepEqual(
        log.flatMap((text) => /internal error ended this run(\.| again)/.exec(text)?.[1] ?? []),
        ['.', ' again'],
      );
      assert.equal(service.stderr().match(/uncaught error in a run/g)?.length, 2);

      await service.say(other, 'say two');
      assert.deepEqual(await service.turns(other, 2), ['one', 'two']);
      await service.say(bad, 'say well again');
      await until('it works again', async () =>
        (await service.events(bad)).some(({ message }) => message === 'well again'),
      );
      const [row] = await inspect(site.storage, 'select crashes from conversations where crashes <> 0');
      assert.equal(row, undefined);
      assert.equal(service.hasEnded(), false);
    });

    it('stops the service in order, with exit code 1, where it is of no run', async (t) => {
      const { serve } = await createWorkerSite(kind, t, mainFile);
      const service = await serve(poisoned);
      await service
        .ask('/api/conversations', { json: { initial_user_msg: 'poison-the-service' } })
        .catch(() => {});
      const { code, stderr } = await service.ended();
      assert.equal(code, 1);
      assert.match(stderr, /uncaught error; stopping/);
      assert.match(stderr, /"msg":"stopped"/);
      const next = await serve();
      assert.equal((await next.ask('/health')).status, 200);
    });
  });
