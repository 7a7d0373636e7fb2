import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../../test/support/localFolder.ts';

const script = `
import { rmSync } from 'node:fs';
const { withCleanup } = await import(process.argv[1]);
setInterval(() => {}, 1_000);
if (process.argv[3] === 'heard') process.on('SIGTERM', () => process.exit(7));
const work = withCleanup(
  () => rmSync(process.argv[2], { recursive: true, force: true }),
  () => new Promise(() => console.log('started')),
);
if (process.argv[3] === 'exit') process.exit(3);
await work;
`;

describe('what a command has created for a moment', () => {
  for (const [how, expected] of Object.entries({
    silent: [null, 'SIGTERM'],
    heard: [7, null],
    exit: [3, null],
  }))
    it(`is removed if the process ends meanwhile: ${how}`, async (t) => {
      const folder = join(temporaryFolder(t), 'folder');
      mkdirSync(folder);
      const module = new URL('cleanup.ts', import.meta.url).href;
      const args = ['--input-type=module', '--eval', script, module, folder, how];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => void child.kill('SIGKILL'));
      const ended = once(child, 'exit');
      await once(child.stdout, 'data');
      child.kill('SIGTERM');
      assert.deepEqual(await ended, expected);
      assert.ok(!existsSync(folder));
    });
});
