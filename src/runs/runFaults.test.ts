import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { notice } from '../events/shapes.ts';
import { createMasking } from './masking.ts';
import { createRecorder } from './recorder.ts';
import { createRunFaults } from './runFaults.ts';

const broken = new Error('broken');

describe('the faults of a run', () => {
  it('are errors of the watched work; only the first counts', async () => {
    const { watch, first } = createRunFaults();
    watch(() => {
      throw broken;
    });
    watch(() => Promise.reject(new Error('later')));
    await assert.rejects(first, broken);
  });

  it("include failures of the recorder's timer, which nobody awaits", async () => {
    const { watch, first } = createRunFaults();
    const { add } = createRecorder({
      record: () => Promise.reject(broken),
      masking: createMasking([]),
      watch,
    });
    await add([notice('x')]);
    await assert.rejects(first, broken);
  });
});
