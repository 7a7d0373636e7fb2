import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewEvent } from '../events/shapes.ts';
import { createMasking } from './masking.ts';
import { createRecorder } from './recorder.ts';
import type { RunStep } from './runContext.ts';
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
});
