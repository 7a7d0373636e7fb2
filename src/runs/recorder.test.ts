import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type AnyEvent, parseText } from '../../test/support/anyEvent.ts';
import { notice, userMessage } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import type { RunStep } from './claimedRun.ts';
import { createMasking } from './masking.ts';
import { createRecorder } from './recorder.ts';
import { createRunFaults } from './runFaults.ts';

const event = (message: string): NewEvent => ({ ...notice(''), message });

describe('the recorder', () => {
  it('keeps the order of its calls, whatever is in progress', async () => {
    const recorded: string[] = [];
    const { add, step } = createRecorder({
      masking: createMasking([]),
      watch: createRunFaults().watch,
      record: async ({ events = [] }: RunStep) => {
        await new Promise(setImmediate);
        recorded.push(...events.map((text) => parseText(text).message));
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

  it('makes callers who add too much wait until it is recorded', async () => {
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

    it('collects everything that arrives meanwhile for the next commit', async (t) => {
      const { addSlowly, step, sizes, release } = createSlow(t);
      await addSlowly(21);
      release();
      await step({});
      assert.deepEqual(sizes, [1, 20, 0]);
    });

    it('makes the agent wait if too much arrives meanwhile', async (t) => {
      const { addSlowly, step, sizes, release } = createSlow(t);
      assert.equal(await addSlowly(600), 501);
      release();
      await step({});
      assert.equal(
        sizes.reduce((sum, size) => sum + size),
        600,
      );
    });

    it('records later events after the step', async (t) => {
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

  it('records everything that a stopped run could not record, with its progress at the end', async () => {
    const steps: RunStep[] = [];
    const { add, recordFinal: lastWords } = createRecorder({
      masking: createMasking([]),
      watch: createRunFaults().watch,
      record: async (step: RunStep) => {
        if (!step.isFinal) return undefined;
        steps.push(step);
        return 0;
      },
    });
    await add(Array.from({ length: 249 }, (_, i) => event(String(i))));
    await lastWords([event('249')], { turn_from: null });
    const texts = steps.flatMap(({ events = [] }) => events.map((text) => parseText(text).message));
    assert.deepEqual(
      texts,
      Array.from({ length: 250 }, (_, i) => String(i)),
    );
    assert.deepEqual(
      steps.map(({ progress }) => progress),
      [undefined, undefined, { turn_from: null }],
    );
  });

  describe('of a tool call', () => {
    const begins = (call: string): NewEvent => ({
      source: 'agent',
      message: '',
      action: 'read',
      args: { path: call, thought: '' },
      tool_call_id: call,
    });
    const ends = (call: string): NewEvent => ({
      source: 'agent',
      message: '',
      observation: 'read',
      content: '',
      extras: { path: call, outcome: 'completed' },
      tool_call_id: call,
    });

    /** A recorder of a log that begins at 100, and may be unable to record for a while. */
    function createLogged(options: Partial<Parameters<typeof createRecorder>[0]> = {}) {
      const log: AnyEvent[] = [];
      let isOpen = true;
      const recorder = createRecorder({
        masking: createMasking([]),
        watch: createRunFaults().watch,
        record: async ({ events = [], isFinal: lastWords = false }: RunStep) => {
          if (!isOpen && !lastWords) return undefined;
          const first = 100 + log.length;
          for (const event of events) {
            const parsed = parseText(event);
            const cause = typeof event === 'string' ? {} : { cause: first + event.answers };
            log.push({ ...parsed, ...cause });
          }
          return first;
        },
        ...options,
      });
      const causes = () =>
        log.flatMap(({ observation, tool_call_id, cause }) =>
          observation === undefined || tool_call_id === undefined ? [] : [[tool_call_id, cause]],
        );
      return { ...recorder, log, causes, stop: () => (isOpen = false) };
    }

    it('has the action as its cause, in the same step and in an earlier one', async () => {
      const { add, step, causes } = createLogged();
      await add([event('x'), begins('a'), begins('b'), ends('a')]);
      await step({ events: [event('y'), ends('b')] });
      // An id that is used again names the newer action.
      await step({ events: [begins('a')] });
      await step({ events: [ends('a'), ends('never begun')] });
      assert.deepEqual(causes(), [
        ['a', 101],
        ['b', 102],
        ['a', 106],
        ['never begun', undefined],
      ]);
    });

    it('has it also where more is recorded than fits into a step, and after the run was stopped', async () => {
      const { add, step, recordFinal: lastWords, causes, stop } = createLogged();
      await step({ events: [begins('a')] });
      stop();
      await add([begins('b'), ...Array.from({ length: 150 }, (_, i) => event(String(i))), ends('a')]);
      await lastWords([ends('b')]);
      assert.deepEqual(causes(), [
        ['a', 100],
        ['b', 101],
      ]);
    });

    it('has it where its id is masked in the log', async () => {
      const { step, causes } = createLogged({ masking: createMasking(['secret']) });
      await step({ events: [begins('secret')] });
      await step({ events: [ends('secret')] });
      assert.deepEqual(causes(), [['**********', 100]]);
    });

    it('has what was metered in its action, where something was', async () => {
      const tokens = { prompt_tokens: 1, completion_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 };
      const used = {
        accumulated_cost: 0.5,
        max_budget_per_task: null,
        accumulated_token_usage: { ...tokens, context_window: 0, per_turn_token: 3 },
      };
      let metered: typeof used | undefined;
      const { step, log } = createLogged({ metrics: () => metered });
      await step({ events: [begins('a')] });
      metered = used;
      await step({ events: [begins('b'), ends('b'), userMessage('Go on', [])] });
      assert.deepEqual(
        log.map((one) => ('llm_metrics' in one ? one.llm_metrics : undefined)),
        [undefined, used, undefined, undefined],
      );
    });
  });
});
