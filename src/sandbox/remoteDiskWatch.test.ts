import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/support/sandboxes.ts';
import { openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import { watchRemoteDisk } from './remoteDiskWatch.ts';

/** A sandbox of this machine does as well. */
async function openFolders(t: TestContext) {
  const root = temporaryFolder(t);
  const [workspace, home] = [join(root, 'workspace'), join(root, 'home')];
  for (const folder of [workspace, home]) mkdirSync(folder);
  const sandbox = await openSandbox({
    engine: processEngine,
    spec: { name: 'test', workspace, home, readable: [], resourceFactor: 1, image: null },
  });
  t.after(() => sandbox.close());
  return { sandbox, workspace, home };
}

const limits = { bytesMax: 1_000_000, filesMax: 50, everyMs: 20 };

describe('watching the files of a sandbox on another machine', () => {
  it('reports the size, and that workspace and home together are too large', async (t) => {
    const { sandbox, workspace, home } = await openFolders(t);
    const sizes: number[] = [];
    const first = Promise.withResolvers<void>();
    const full = Promise.withResolvers<string>();
    const onBytes = (bytes: number) => {
      sizes.push(bytes);
      first.resolve();
    };
    t.after(watchRemoteDisk({ ...limits, sandbox, onBytes, onFull: full.resolve }));
    await first.promise;
    for (const folder of [workspace, home]) writeFileSync(join(folder, 'large'), Buffer.alloc(600_000, 'x'));
    assert.equal(
      await full.promise,
      'The workspace and home folder exceed 1 MB. Start a new conversation, or ask the operator to raise PARLEY_WORKSPACE_MB.',
    );
    assert.ok((sizes[0] ?? 0) < 1_000_000 && (sizes.at(-1) ?? 0) >= 1_200_000, String(sizes));
  });

  it('reports too many files', async (t) => {
    const { sandbox, workspace } = await openFolders(t);
    for (let n = 0; n < 60; n++) writeFileSync(join(workspace, String(n)), '');
    const full = Promise.withResolvers<string>();
    t.after(watchRemoteDisk({ ...limits, sandbox, onFull: full.resolve }));
    assert.match(
      await full.promise,
      /^The workspace and home folder exceed 50 files\. .*PARLEY_WORKSPACE_FILES\.$/,
    );
  });

  it('reports files that cannot be counted in time, and goes on if a count fails', async (t) => {
    const { sandbox } = await openFolders(t);
    let starts = 0;
    const hanging: typeof sandbox = {
      ...sandbox,
      start: async (program) => {
        starts += 1;
        if (starts === 1) throw new Error('the sandbox cannot be reached');
        return sandbox.start({ ...program, argv: ['sleep', '60'] });
      },
    };
    const full = Promise.withResolvers<string>();
    t.after(watchRemoteDisk({ ...limits, countMs: 100, sandbox: hanging, onFull: full.resolve }));
    assert.match(await full.promise, /too many files to be counted/);
    assert.equal(starts, 4);
  });
});
