import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../../test/support/localFolder.ts';
import { guardFolder } from './guardFolder.ts';
import { createLocalFolders } from './localFolders.ts';

function setUp(t: { after(fn: () => Promise<void>): void }) {
  const top = realpathSync(temporaryFolder(t));
  for (const name of ['code/app', 'code-other', 'data']) mkdirSync(join(top, name), { recursive: true });
  const create = (more: Partial<Parameters<typeof createLocalFolders>[0]> = {}) =>
    createLocalFolders({
      allowed: [join(top, 'code')],
      dataDir: join(top, 'data'),
      hasSharedDatabase: false,
      onLoopback: true,
      hasOneUser: async () => true,
      ...more,
    });
  return { top, app: join(top, 'code/app'), create };
}

describe('a local folder', () => {
  it('is allowed in and below the folders of the operator, by its real path', async (t) => {
    const { top, app, create } = setUp(t);
    const { findFault } = create();
    symlinkSync(app, join(top, 'code/link'));
    symlinkSync(join(top, 'code-other'), join(top, 'code/out'));
    writeFileSync(join(top, 'code/file'), '');
    for (const path of [app, join(top, 'code')]) assert.equal(await findFault(path), undefined);
    const refused: [string, RegExp][] = [
      [join(top, 'code-other'), /PARLEY_LOCAL_FOLDERS/],
      [top, /PARLEY_LOCAL_FOLDERS/],
      [join(top, 'code/link'), /real path/],
      [join(top, 'code/out'), /real path/],
      [`${app}/../app`, /real path/],
      [`${app}/`, /real path/],
      [join(top, 'code/file'), /must be a folder/],
      [join(top, 'code/missing'), /must be a folder/],
      ['code/app', /absolute/],
    ];
    for (const [path, fault] of refused) assert.match((await findFault(path)) ?? '', fault, path);
  });

  it('never contains the data folder or a home folder', async (t) => {
    const { top, create } = setUp(t);
    const { findFault } = create({ allowed: ['/'] });
    for (const path of [top, join(top, 'data'), '/'])
      assert.match((await findFault(path)) ?? '', /data folder/);
    for (const path of [homedir(), dirname(homedir())])
      assert.match((await findFault(realpathSync(path))) ?? '', /home folder|data folder/);
  });

  it('is only for a single user of a service on loopback with SQLite', async (t) => {
    const { app, create } = setUp(t);
    const refused: [Parameters<typeof create>[0], RegExp][] = [
      [{ allowed: [] }, /the operator can set PARLEY_LOCAL_FOLDERS/],
      [{ hasSharedDatabase: true }, /DATABASE_URL/],
      [{ onLoopback: false }, /loopback/],
      [{ hasOneUser: async () => false }, /single user/],
    ];
    for (const [more, fault] of refused) assert.match((await create(more).findFault(app)) ?? '', fault);
  });

  it('is held by one conversation at a time, together with what is in it and around it', (t) => {
    const { top, app, create } = setUp(t);
    const { hold } = create();
    const first = hold(app, 'a');
    assert.ok('release' in first);
    for (const path of [app, join(app, 'src'), join(top, 'code')])
      assert.deepEqual(hold(path, 'b'), { takenBy: 'a' });
    assert.ok('release' in hold(join(top, 'code-other'), 'b'));
    const next = hold(app, 'a');
    assert.ok('release' in next);
    assert.deepEqual([first.release(), next.release()], [false, true]);
    assert.ok('release' in hold(app, 'b'));
  });
});

describe('the protection of a local folder', () => {
  const inFolder = (folder: string) => readdirSync(folder).toSorted();

  it('covers what exists and what does not, and leaves nothing behind', (t) => {
    const { top, app } = setUp(t);
    mkdirSync(join(app, '.vscode'));
    for (const path of ['packages/a/.idea', 'packages/a/.git', 'node_modules/x/.git'])
      mkdirSync(join(app, path), { recursive: true });
    writeFileSync(join(app, '.envrc'), 'use nix');
    const before = inFolder(app);
    const guarded = guardFolder(app, join(top, 'record'));
    assert.ok('readOnly' in guarded);
    for (const name of ['.git', '.vscode', '.envrc', '.husky', 'packages/a/.idea', 'packages/a/.git'])
      assert.ok(guarded.readOnly.includes(name), name);
    assert.ok(!guarded.readOnly.some((name) => name.startsWith('node_modules')));
    guarded.release();
    assert.deepEqual(inFolder(app), before);
    assert.deepEqual(inFolder(top), ['code', 'code-other', 'data']);
  });

  it('removes what a crashed run has left, but nothing that somebody has filled', (t) => {
    const { top, app } = setUp(t);
    guardFolder(app, join(top, 'record'));
    writeFileSync(join(app, '.husky/pre-commit'), 'by the user');
    rmSync(join(app, '.idea'), { recursive: true });
    const again = guardFolder(app, join(top, 'record'));
    assert.ok('release' in again);
    again.release();
    assert.deepEqual(inFolder(app), ['.husky']);
  });

  it('refuses links, which it cannot cover', (t) => {
    const { top, app } = setUp(t);
    symlinkSync('/etc', join(app, '.vscode'));
    const guarded = guardFolder(app, join(top, 'record'));
    assert.match('fault' in guarded ? guarded.fault : '', /\.vscode in the folder is a symbolic link/);
    assert.deepEqual(inFolder(app), ['.vscode']);
  });
});
