import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { NewEvent } from '../events/shapes.ts';
import type { RunStep } from './claimedRun.ts';
import { createMasking } from './masking.ts';
import { createRecorder } from './recorder.ts';
import { createRunFaults } from './runFaults.ts';

const event = (message: string): NewEvent => ({ source: 'agent', message });

describe('the recorder', () => {
  it('keeps the order in which it was called, whatever is under way', async () => {
    const recorded: string[] = [];
    const { add, step } = createRecorder({
      masking: createMasking([]),
      watch: createRunFaults().watch,
      record: async ({ events = [] }: RunStep) => {
        await new Promise(setImmediate);
        recorded.push(...events.map((text) => JSON.parse(text).message));
        return recorded.length;
      },
    });
    void add([event('1')]);
    const first = step({ events: [event('2')] });
    void add([event('3'), event('4')]);
    const second = step({ events: [event('5')] });
    void add([event('6')]);
    await Promise.all([first, second]);
    await step({ events: [event('7')] });
    assert.deepEqual(recorded, ['1', '2', '3', '4', '5', '6', '7']);
  });

  it('makes who adds too much wait until it is recorded', async () => {
    let count = 0;
    const { add } = createRecorder({
      masking: createMasking([]),
      watch: createRunFaults().watch,
      record: async ({ events = [] }: RunStep) => (count += events.length),
    });
    await add(Array.from({ length: 1_000 }, (_, i) => event(String(i))));
    assert.equal(count, 1_000);
  });

  describe('while a commit takes long', () => {
    /** A recorder whose first commit does not end before it is released. Time passes only where the test says so. */
    function createSlow(t: TestContext) {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const commit = Promise.withResolvers<void>();
      const sizes: number[] = [];
      const recorder = createRecorder({
        masking: createMasking([]),
        watch: createRunFaults().watch,
        record: async ({ events = [] }: RunStep) => {
          sizes.push(events.length);
          await commit.promise;
          return 0;
        },
      });
      /** One event after the other, each too late to share the commit of the one before. */
      async function addSlowly(count: number): Promise<number> {
        let taken = 0;
        for (let i = 0; i < count; i++) {
          void recorder.add([event(String(i))]).then(() => taken++);
          t.mock.timers.tick(1_000);
          await new Promise(setImmediate);
        }
        return taken;
      }
      return { ...recorder, addSlowly, sizes, release: commit.resolve };
    }

    it('gathers all that comes meanwhile for the next commit', async (t) => {
      const { addSlowly, step, sizes, release } = createSlow(t);
      await addSlowly(21);
      release();
      await step({});
      assert.deepEqual(sizes, [1, 20, 0]);
    });

    it('makes the agent wait where too much comes meanwhile', async (t) => {
      const { addSlowly, step, sizes, release } = createSlow(t);
      assert.equal(await addSlowly(600), 501);
      release();
      await step({});
      assert.equal(
        sizes.reduce((sum, size) => sum + size),
        600,
      );
    });

    it('records what comes after a step after the step', async (t) => {
      const { add, addSlowly, step, sizes, release } = createSlow(t);
      await addSlowly(2);
      const stepped = step({ events: [event('a'), event('b'), event('c')] });
      void add([event('d')]);
      release();
      await stepped;
      await step({});
      assert.deepEqual(sizes, [1, 1, 3, 1, 0]);
    });
  });

  it('records all that a stopped run could not record, with what it got to at the end', async () => {
    const steps: RunStep[] = [];
    const { add, lastWords } = createRecorder({
      masking: createMasking([]),
      watch: createRunFaults().watch,
      record: async (step: RunStep) => {
        if (!step.lastWords) return undefined;
        steps.push(step);
        return 0;
      },
    });
    await add(Array.from({ length: 249 }, (_, i) => event(String(i))));
    await lastWords([event('249')], { turn_from: null });
    const texts = steps.flatMap(({ events = [] }) => events.map((text) => JSON.parse(text).message));
    assert.deepEqual(
      texts,
      Array.from({ length: 250 }, (_, i) => String(i)),
    );
    assert.deepEqual(
      steps.map(({ progress }) => progress),
      [undefined, undefined, { turn_from: null }],
    );
  });
});
