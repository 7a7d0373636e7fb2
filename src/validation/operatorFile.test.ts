import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { RefusalError } from '../errors.ts';
import { readOperatorFile } from './operatorFile.ts';

const refusal = (sentence: RegExp) => (error: unknown) =>
  error instanceof RefusalError && sentence.test(error.message);

describe('a file of the operator', () => {
  it('is read, and undefined where there is none', (t) => {
    const file = join(temporaryFolder(t), 'prices.json');
    assert.equal(readOperatorFile(file, 'prices'), undefined);
    writeFileSync(file, '{}');
    assert.equal(readOperatorFile(file, 'prices'), '{}');
  });

  it('is refused before it is read where it is too large', (t) => {
    const file = join(temporaryFolder(t), 'prices.json');
    writeFileSync(file, '');
    // More than a text can hold: to read it fails otherwise.
    truncateSync(file, 2 ** 33);
    assert.throws(() => readOperatorFile(file, 'prices'), refusal(/is larger than 1048576 bytes/));
  });

  it('is refused where it is none: a folder, a pipe', (t) => {
    const folder = temporaryFolder(t);
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [folder, pipe])
      assert.throws(() => readOperatorFile(path, 'prices'), refusal(/The prices in .* it is not a file/));
  });
});
