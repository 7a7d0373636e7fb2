import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, readFileSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { longSleep, sleeps, temporaryFolder } from '../../test/support/sandboxes.ts';
import { mountTmpfs, noTmpfs } from '../../test/support/tmpfs.ts';
import { until } from '../../test/support/until.ts';
import { mib } from '../validation/schema.ts';
import { createDiskShortage } from './diskShortage.ts';
import { type DiskWatchOptions, findDiskFault, watchDisk } from './diskWatch.ts';

type Folders = readonly [workspace: string, home: string];

/** Watches two folders, which are filled before it begins. */
function watch(
  t: TestContext,
  fillBoth: (folders: Folders) => void,
  options: Partial<DiskWatchOptions> = {},
) {
  const folders: Folders = [temporaryFolder(t), temporaryFolder(t)];
  fillBoth(folders);
  const said: string[] = [];
  const stop = watchDisk({
    folders,
    bytesMax: 2 * mib,
    filesMax: 100,
    freeBytesMin: 0,
    freeFilesMin: 0,
    everyMs: 5,
    onFull: (sentence) => said.push(sentence),
    ...options,
  });
  t.after(stop);
  return { said, stop };
}

const fill = (folder: string, bytes: number) => writeFileSync(join(folder, 'filled'), Buffer.alloc(bytes, 1));

/** Step by step, so that no path is too long for the system, as a hostile program would do it. */
function fillDeeply(folder: string): void {
  const before = process.cwd();
  process.chdir(folder);
  for (let depth = 0; depth < 40; depth++) {
    const name = 'd'.repeat(200);
    mkdirSync(name);
    process.chdir(name);
  }
  fill('.', 3 * mib);
  process.chdir(before);
}

describe('the disk watch', () => {
  it('counts all folders together, and reports once that they are too large', async (t) => {
    const { said } = watch(t, (folders) => {
      for (const folder of folders) fill(folder, 1.5 * mib);
    });
    await until('it says so', () => said.length > 0);
    await turn();
    assert.deepEqual(said, [
      'The workspace and home folder exceed 2 MB. Start a new conversation, or ask the operator to raise PARLEY_WORKSPACE_MB.',
    ]);
  });

  it('counts what is nested deeper than a path can express', async (t) => {
    const { said } = watch(t, ([workspace]) => fillDeeply(workspace));
    await until('it says so', () => said.length > 0);
  });

  it('reports that little space is left on the disk', async (t) => {
    const { said } = watch(t, () => {}, { freeBytesMin: Number.MAX_SAFE_INTEGER });
    await until('it says so', () => said.length > 0);
    assert.match(said[0] ?? '', /^The disk has less than [\d,]+ MB left\. Delete conversations/);
  });

  it('counts files, folders and links of all folders together, hard links once', async (t) => {
    const fillWith = (names: number) => (folders: Folders) => {
      for (const folder of folders) {
        writeFileSync(join(folder, 'file'), '');
        for (let index = 0; index < 100; index++)
          linkSync(join(folder, 'file'), join(folder, `link${index}`));
        for (let index = 0; index < names; index++) mkdirSync(join(folder, `folder${index}`));
      }
    };
    // Each folder itself and its file count, too.
    const within = watch(t, fillWith(48));
    const over = watch(t, fillWith(49));
    await until('one says so', () => over.said.length > 0);
    assert.match(
      over.said[0] ?? '',
      /^The workspace and home folder exceed 100 files\. .*PARLEY_WORKSPACE_FILES/,
    );
    assert.deepEqual(within.said, []);
  });

  it('reports that few inodes are left on the file system, as does the check before a run', {
    skip: noTmpfs,
  }, async (t) => {
    const { folder, remove } = mountTmpfs(1_000);
    t.after(remove);
    const freeMin = { freeBytesMin: 0, freeFilesMin: 500 };
    const watched = watch(t, () => {}, { ...freeMin, folders: [folder], filesMax: 10_000 });
    assert.equal(await findDiskFault(folder, freeMin), undefined);
    for (let index = 0; index < 600; index++) writeFileSync(join(folder, String(index)), '');
    await until('it says so', () => watched.said.length > 0);
    const [sentence] = watched.said;
    assert.match(
      sentence ?? '',
      /^The file system has room for fewer than 500 more files \(inodes\)\. Delete/,
    );
    assert.equal(await findDiskFault(folder, freeMin), sentence);
  });

  it('counts deleted files that its processes hold open', { skip: noTmpfs }, async (t) => {
    const { folder, remove } = mountTmpfs(1_000);
    t.after(remove);
    // Two descriptors of one file, which counts once.
    const script = `exec 3>'${folder}/gone' 4>&3; rm '${folder}/gone'; head -c 1500000 /dev/zero >&3; echo; exec sleep 600`;
    const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const pids = () => [child.pid ?? 0];
    const within = watch(t, () => {}, { folders: [folder], pids });
    const over = watch(t, () => {}, { folders: [folder], bytesMax: mib, pids });
    await until('it says so', () => over.said.length > 0);
    assert.match(over.said[0] ?? '', /^The workspace and home folder exceed 1 MB\./);
    assert.deepEqual(within.said, []);
  });

  it('stops the run that has grown most first if the disk is nearly full', { skip: noTmpfs }, async (t) => {
    const { folder, remove } = mountTmpfs(1_000);
    t.after(remove);
    const shortage = createDiskShortage({ waitMs: 600_000, settleMs: 0 });
    const { bavail, bsize } = statfsSync(folder);
    const stopped: string[] = [];
    let counts = 0;
    const names = ['idle', 'some', 'most'];
    for (const name of names) {
      mkdirSync(join(folder, name));
      fill(join(folder, name), name === 'idle' ? 8 * mib : 1);
      watch(t, () => {}, {
        folders: [join(folder, name)],
        bytesMax: 1_000 * mib,
        freeBytesMin: bavail * bsize - 16 * mib,
        shortage,
        pids: () => {
          counts++;
          return [];
        },
        onFull: () => stopped.push(name),
      });
    }
    await until('each has counted bytes and files', () => counts >= 2 * names.length);
    fill(join(folder, 'some'), mib);
    fill(join(folder, 'most'), 16 * mib);
    await until('all are stopped', () => stopped.length === names.length);
    assert.deepEqual(stopped, ['most', 'some', 'idle']);
  });

  it('stops one run at a time if the disk is nearly full, and waits for what others have grown by', () => {
    const shortage = createDiskShortage({ waitMs: 600_000, settleMs: 600_000 });
    const [first, second, third] = [shortage.join(), shortage.join(), shortage.join()];
    assert.equal(first.isNext(5), false);
    assert.equal(second.isNext(7), false);
    third.leave();
    assert.equal(first.isNext(5), false);
    assert.equal(second.isNext(7), true);
    assert.equal(first.isNext(9), false, 'until the space of the other is free');
  });

  it('follows no links, and reports nothing once it is stopped', async (t) => {
    const elsewhere = temporaryFolder(t);
    fill(elsewhere, 3 * mib);
    const linking = watch(t, ([workspace]) => symlinkSync(elsewhere, join(workspace, 'link')));
    const stopped = watch(t, ([workspace]) => fill(workspace, 3 * mib));
    stopped.stop();
    const counting = watch(t, ([workspace]) => fill(workspace, 3 * mib));
    await until('a third that was started later says so', () => counting.said.length > 0);
    assert.deepEqual([linking.said, stopped.said], [[], []]);
  });

  /** Has another program count, which has no end. */
  function countForEver(t: TestContext) {
    const sleep = longSleep();
    const folder = temporaryFolder(t);
    const seen = join(folder, 'seen');
    writeFileSync(join(folder, 'du'), `#!/bin/sh\nenv >${seen}\nexec sleep ${sleep}\n`, { mode: 0o755 });
    const before = process.env['PATH'];
    process.env['PATH'] = `${folder}${delimiter}${before}`;
    process.env['PARLEY_CANARY'] = 'canary';
    t.after(() => {
      process.env['PATH'] = before;
      delete process.env['PARLEY_CANARY'];
    });
    return { sleep, seen };
  }

  it('treats folders that repeatedly cannot be counted in time as full', async (t) => {
    countForEver(t);
    const { said } = watch(t, () => {}, { countMs: 50 });
    await until('it says so', () => said.length > 0);
    assert.match(said[0] ?? '', /too many files to be counted within 0\.05 s/);
  });

  it("ends the count when it is stopped, which has none of the service's environment", async (t) => {
    const { sleep, seen } = countForEver(t);
    const { said, stop } = watch(t, () => {});
    await until('it counts', () => sleeps(sleep) > 0);
    stop();
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.deepEqual(said, []);
    assert.doesNotMatch(readFileSync(seen, 'utf8'), /canary/);
  });
});
