import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { withDataDir } from './dataFolder.ts';

/** Folders of a user, one of which is the current one. */
function enter(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-data-')));
  const before = process.cwd();
  const project = join(root, 'project');
  mkdirSync(join(project, 'data'), { recursive: true });
  process.chdir(project);
  t.after(() => {
    process.chdir(before);
    rmSync(root, { recursive: true });
  });
  const env = { XDG_DATA_HOME: join(root, 'share') };
  const use = (folder: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'parley.db'), '');
  };
  return { project, env, use, ofUser: join(root, 'share', 'parley') };
}

describe('the data folder of a command', () => {
  it('is the one in the current folder if that is one of Parley, and otherwise the one of editors', (t) => {
    const { project, env, use, ofUser } = enter(t);
    use(ofUser);
    assert.equal(withDataDir(env)['PARLEY_DATA_DIR'], ofUser, 'a folder of another program is in the way');
    use(join(project, 'data'));
    assert.equal(withDataDir(env)['PARLEY_DATA_DIR'], undefined, 'the default applies');
  });

  it('is the one that the environment names', (t) => {
    const { env, use, ofUser } = enter(t);
    use(ofUser);
    assert.equal(withDataDir({ ...env, PARLEY_DATA_DIR: '/else' })['PARLEY_DATA_DIR'], '/else');
  });
});
