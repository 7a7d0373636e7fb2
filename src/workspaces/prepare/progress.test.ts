import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGitProgressReader, createProgress } from './progress.ts';

describe('the progress of a clone', () => {
  it('reports a new step at once, and the same one once a second', () => {
    let now = 0;
    const told: string[] = [];
    const { report, end } = createProgress(
      (text) => told.push(text),
      () => now,
    );
    report('Receiving', ' 1 %');
    report('Receiving', ' 2 %');
    now = 999;
    report('Receiving', ' 3 %');
    report('Resolving', ' 1 %');
    now = 1_998;
    report('Resolving', ' 2 %');
    now = 1_999;
    report('Resolving', ' 3 %');
    end();
    assert.deepEqual(told, ['Receiving 1 %', 'Resolving 1 %', 'Resolving 3 %']);
  });

  it('repeats itself if nothing is new', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const told: string[] = [];
    const { report, end } = createProgress((text) => told.push(text));
    t.mock.timers.tick(20_000);
    report('Running');
    t.mock.timers.tick(40_000);
    end();
    t.mock.timers.tick(40_000);
    assert.deepEqual(told, ['Running', 'Running', 'Running']);
  });

  it('reads the output of git, however it is split, and reports only known phrases', () => {
    const told: string[] = [];
    const read = createGitProgressReader((name, detail) => told.push(name + detail));
    const text =
      "Cloning into '.'...\nremote: Counting objects:  50% (1/2)\rremote: secret: 1%\nReceiving objects: 100% (2/2), 3 KiB | 1 MiB/s, done.\n";
    for (const char of text) read(char);
    read('x'.repeat(100_000));
    assert.deepEqual(told, ['Counting objects 50 %', 'Receiving objects 100 %']);
  });
});
