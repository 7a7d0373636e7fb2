// Repositories and homes that try to break snapshots, or to run something while they are taken or restored.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commit, git } from '../../../test/support/gitServer.ts';
import { bubblewrap, noBubblewrap } from '../../../test/support/sandboxes.ts';
import { createSnapshotBench, type Place } from '../../../test/support/snapshotBench.ts';
import { temporaryFolder } from '../../../test/support/snapshots.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';
import { NotCopied } from './copy.ts';

async function repository(t: TestContext) {
  const bench = createSnapshotBench(t);
  const place = await bench.newPlace();
  git(place.workspace, ['init', '--quiet', '--initial-branch=main', '.']);
  writeFileSync(join(place.workspace, 'a.txt'), 'a\n');
  git(place.workspace, ['add', '.']);
  git(place.workspace, ['commit', '--quiet', '-m', 'first']);
  return { ...bench, place };
}

/** Every way in which Git runs a program that a repository names. */
function plantPrograms({ workspace }: Place, mark: string): void {
  const program = join(workspace, 'evil.sh');
  writeFileSync(program, `#!/bin/sh\necho ran "$@" >>${mark}\ncat\n`);
  chmodSync(program, 0o755);
  const settings = {
    'core.fsmonitor': program,
    'core.hooksPath': join(workspace, 'hooks'),
    'core.sshCommand': program,
    'core.pager': program,
    'filter.evil.clean': program,
    'filter.evil.smudge': program,
    'filter.evil.process': program,
    'diff.external': program,
    'diff.evil.textconv': program,
    'diff.evil.command': program,
    'uploadpack.packObjectsHook': program,
    'credential.helper': program,
    'gpg.program': program,
  };
  mkdirSync(join(workspace, 'hooks'));
  for (const hook of [
    'post-checkout',
    'post-index-change',
    'reference-transaction',
    'pre-commit',
    'post-merge',
  ]) {
    for (const folder of ['hooks', '.git/hooks']) {
      writeFileSync(join(workspace, folder, hook), `#!/bin/sh\necho ran ${hook} >>${mark}\n`);
      chmodSync(join(workspace, folder, hook), 0o755);
    }
  }
  writeFileSync(join(workspace, '.gitattributes'), '* filter=evil diff=evil\n');
  for (const [name, value] of Object.entries(settings)) git(workspace, ['config', name, value]);
}

describe('a snapshot of a hostile repository', () => {
  it('runs none of its programs, neither when it is taken nor when it is restored', async (t) => {
    const { place, take, restore } = await repository(t);
    const mark = join(temporaryFolder(t), 'mark');
    plantPrograms(place, mark);
    writeFileSync(join(place.workspace, 'a.txt'), 'changed\n');
    const taken = await take(place);
    assert.ok(!existsSync(mark));
    const restored = await restore(taken);
    assert.equal(restored.refusal, undefined);
    assert.ok(!existsSync(mark));
    assert.equal(git(restored.workspace, ['config', 'filter.evil.clean']).endsWith('evil.sh'), true);
  });

  it('does not wait for pipes, and leaves out what is no file', async (t) => {
    const { place, take, restore } = await repository(t);
    for (const path of ['.gitignore', 'pipe', '.git/info/attributes'])
      execFileSync('mkfifo', [join(place.workspace, path)]);
    execFileSync('mkfifo', [join(place.home, 'pipe')]);
    writeFileSync(join(place.workspace, 'b.txt'), 'b\n');
    const restored = await restore(await take(place));
    assert.equal(restored.refusal, undefined);
    assert.ok(existsSync(join(restored.workspace, 'b.txt')));
    assert.ok(!existsSync(join(restored.workspace, 'pipe')));
  });

  it('stores all files if Git would read objects elsewhere', async (t) => {
    const { place, take, restore } = await repository(t);
    const other = temporaryFolder(t);
    git(other, ['init', '--quiet', '.']);
    mkdirSync(join(place.workspace, '.git/objects/info'), { recursive: true });
    writeFileSync(join(place.workspace, '.git/objects/info/alternates'), join(other, '.git/objects\n'));
    const taken = await take(place);
    assert.equal(taken.contents.hasRepository, false);
    const restored = await restore(taken);
    assert.equal(git(restored.workspace, ['log', '--format=%s']), 'first');
  });

  it('stores all files if objects are missing', async (t) => {
    const { place, take, restore } = await repository(t);
    const tree = git(place.workspace, ['rev-parse', 'HEAD^{tree}']);
    const name = `.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`;
    rmSync(join(place.workspace, name));
    writeFileSync(join(place.workspace, 'b.txt'), 'b\n');
    const taken = await take(place);
    assert.equal(taken.contents.hasRepository, false);
    const restored = await restore(taken);
    assert.equal(restored.refusal, undefined);
    assert.ok(existsSync(join(restored.workspace, 'b.txt')));
  });

  it('stores links as links', async (t) => {
    const { place, take, restore } = await repository(t);
    const secret = join(temporaryFolder(t), 'secret');
    writeFileSync(secret, 'of the host');
    symlinkSync(secret, join(place.workspace, 'link'));
    symlinkSync(temporaryFolder(t), join(place.home, 'folder'));
    const taken = await take(place);
    const restored = await restore(taken);
    execFileSync('test', ['-L', join(restored.workspace, 'link')]);
    execFileSync('test', ['-L', join(restored.home, 'folder')]);
  });

  it('names changes that Git was told to overlook', async (t) => {
    const { place, take, restore } = await repository(t);
    git(place.workspace, ['update-index', '--assume-unchanged', 'a.txt']);
    writeFileSync(join(place.workspace, 'a.txt'), 'hidden change\n');
    const restored = await restore(await take(place));
    assert.equal(execFileSync('cat', [join(restored.workspace, 'a.txt')]).toString(), 'hidden change\n');
  });
});

describe('a repository that is changed while it is copied', () => {
  it('is refused, because the index could name objects that the copy lacks', async (t) => {
    const { place, take } = await repository(t);
    // As if somebody staged the file after the index was read.
    const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
    const programs = temporaryFolder(t);
    writeFileSync(
      join(programs, 'git'),
      `#!/bin/sh
case "$*" in *ls-files*--others*) (cd ${place.workspace} && ${real} add late.txt);; esac
exec ${real} "$@"
`,
      { mode: 0o755 },
    );
    writeFileSync(join(place.workspace, 'late.txt'), 'late\n');
    const env = { PATH: `${programs}:${process.env['PATH']}` };
    const { start } = place.sandbox;
    const sandbox = { ...place.sandbox, start: (program: SandboxProgram) => start({ ...program, env }) };
    await assert.rejects(
      take({ ...place, sandbox }),
      (error) => error instanceof NotCopied && error.reason === 'changed',
    );
    assert.equal((await take(place)).summary.hasRepository, true);
  });
});

describe('the bounds of a snapshot', () => {
  it('leave out what is too large, also if it takes no space, and name it', async (t) => {
    const { place, take, restore } = await repository(t);
    writeFileSync(join(place.workspace, 'sparse.bin'), '');
    truncateSync(join(place.workspace, 'sparse.bin'), 5_000_000_000_000);
    writeFileSync(join(place.home, 'large.bin'), Buffer.alloc(600_000));
    writeFileSync(join(place.home, 'small.txt'), 'small');
    const taken = await take(place, { limits: { bytesMax: 500_000, fileBytesMax: 500_000 } });
    assert.deepEqual(taken.summary.leftOut.files, [
      { name: 'sparse.bin', bytes: 5_000_000_000_000, reason: 'too_large' },
      { name: '~/large.bin', bytes: 600_000, reason: 'too_large' },
    ]);
    const restored = await restore(taken);
    assert.equal(restored.refusal, undefined);
    assert.ok(existsSync(join(restored.home, 'small.txt')));
  });

  it('leave out the largest files, however they are called, so that most fit', async (t) => {
    const { place, take, restore } = await repository(t);
    const sizes = { a: 10_000, b: 400_000, c: 20_000, d: 350_000, e: 30_000 };
    for (const [name, size] of Object.entries(sizes))
      writeFileSync(join(place.workspace, name), Buffer.alloc(size));
    const taken = await take(place, { limits: { bytesMax: 200_000 } });
    assert.deepEqual(taken.summary.leftOut, {
      count: 2,
      files: [
        { name: 'b', bytes: 400_000, reason: 'no_room' },
        { name: 'd', bytes: 350_000, reason: 'no_room' },
      ],
    });
    const { workspace } = await restore(taken);
    assert.deepEqual(
      readdirSync(workspace).filter((name) => name in sizes),
      ['a', 'c', 'e'],
    );
  });

  it('hold for the number of files', async (t) => {
    const { place, take } = await repository(t);
    for (let i = 0; i < 300; i++) writeFileSync(join(place.workspace, `f${i}`), 'x');
    const taken = await take(place, { limits: { filesMax: 100 } });
    assert.equal(taken.summary.files, 100);
    assert.ok(taken.summary.leftOut.count >= 200);
    assert.equal(taken.summary.leftOut.files.length, 20);
    assert.equal(taken.summary.leftOut.files[0]?.reason, 'too_many');
  });

  it('refuse commits that do not fit, and leave nothing behind', async (t) => {
    const { place, take, spooled } = await repository(t);
    writeFileSync(
      join(place.workspace, 'a.bin'),
      Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i * 7919) % 251)),
    );
    git(place.workspace, ['add', '.']);
    git(place.workspace, ['commit', '--quiet', '-m', 'large']);
    await assert.rejects(take(place, { limits: { bytesMax: 1_000 } }), NotCopied);
    assert.deepEqual(spooled(), []);
  });

  it('leave out folders that cannot be read', {
    skip: process.getuid?.() === 0 && 'root reads everything',
  }, async (t) => {
    const { place, take } = await repository(t);
    mkdirSync(join(place.home, 'locked'), { mode: 0o000 });
    assert.deepEqual((await take(place)).summary.leftOut.files, [
      { name: '~/locked/', bytes: 0, reason: 'unreadable' },
    ]);
    chmodSync(join(place.home, 'locked'), 0o700);
  });
});

describe('a snapshot in a sandbox', () => {
  it('leaves nothing behind if the sandbox is closed already', async (t) => {
    const { place, take, spooled } = await repository(t);
    await place.sandbox.close();
    await assert.rejects(take(place));
    assert.deepEqual(spooled(), []);
  });

  it('is taken and restored in bubblewrap', { skip: noBubblewrap }, async (t) => {
    const bench = createSnapshotBench(t, bubblewrap());
    const place = await bench.newPlace();
    git(place.workspace, ['init', '--quiet', '--initial-branch=main', '.']);
    commit(join(place.workspace, '.git'), 'main', { 'a.txt': 'a\n' });
    git(place.workspace, ['reset', '--quiet', '--hard']);
    writeFileSync(join(place.workspace, 'b.txt'), 'b\n');
    writeFileSync(join(place.home, 'c.txt'), 'c\n');
    const restored = await bench.restore(await bench.take(place));
    assert.equal(restored.refusal, undefined);
    assert.equal(git(restored.workspace, ['status', '--short']), '?? b.txt');
    assert.ok(existsSync(join(restored.home, 'c.txt')));
  });
});
