// The mutants name parts of the source. A change of the source must not leave them behind unnoticed, since they are built
// only in a run of their own.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { projectDir } from '../support/program.ts';
import { mutants } from './mutants.ts';

describe('the mutants of chaos runs', () => {
  for (const { name, changes } of mutants)
    it(`find what they take out exactly once: ${name}`, () => {
      for (const { file, from } of changes)
        assert.equal(readFileSync(join(projectDir, file), 'utf8').split(from).length, 2, `${file}: ${from}`);
    });
});
