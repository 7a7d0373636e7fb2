// Folders that somebody else has prepared: archives, shared disks and repositories with a configuration of their own.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { git } from '../../../test/support/gitServer.ts';
import { cloneFolder, plainFolder, temporaryFolder } from '../../../test/support/localFolder.ts';
import { until } from '../../../test/support/until.ts';
import { RefusalError } from '../../errors.ts';
import { locateFolder } from './folderLocation.ts';
import { runGit } from './localGit.ts';
import { prepareFolder } from './prepareFolder.ts';
import { pullBranch } from './pullBranch.ts';
import { pullChanges } from './pullChanges.ts';
import { readPulledPatch } from './pulledPatch.ts';
import { withUntrustedGit } from './untrustedGit.ts';

type Folder = Awaited<ReturnType<typeof cloneFolder>>;

/** A program that records that it has run. */
function createProgram(t: TestContext) {
  const folder = temporaryFolder(t);
  const [path, record] = [join(folder, 'program'), join(folder, 'record')];
  writeFileSync(path, `#!/bin/sh\necho "$0 $*" >> '${record}'\ncat\n`);
  chmodSync(path, 0o755);
  return { path, ran: () => (existsSync(record) ? readFileSync(record, 'utf8') : '') };
}

function writeHooks({ path }: Folder, folder: string, program: string): void {
  const names = ['post-index-change', 'reference-transaction', 'pre-commit', 'post-checkout', 'fsmonitor'];
  mkdirSync(join(path, folder), { recursive: true });
  for (const name of names) {
    writeFileSync(join(path, folder, name), `#!/bin/sh\nexec '${program}' ${name}\n`);
    chmodSync(join(path, folder, name), 0o755);
  }
}

/** Takes the objects of the old content away, which git would then fetch with the program. */
function makePartial(folder: Folder, program: string): void {
  folder.git('config', 'core.repositoryFormatVersion', '1');
  folder.git('config', 'extensions.partialClone', 'origin');
  folder.git('config', 'remote.origin.promisor', 'true');
  folder.git('config', 'remote.origin.url', 'ssh://git@127.0.0.1/team/app.git');
  folder.git('config', 'core.sshCommand', program);
}

const preparations: Readonly<Record<string, (folder: Folder, program: string) => void>> = {
  'core.fsmonitor': (folder, program) => folder.git('config', 'core.fsmonitor', program),
  'core.fsmonitor of a worktree': (folder, program) => {
    folder.git('config', 'extensions.worktreeConfig', 'true');
    folder.git('config', '--worktree', 'core.fsmonitor', program);
  },
  'an included file': (folder, program) => {
    folder.git('config', 'include.path', '../more.config');
    folder.write('more.config', `[core]\nfsmonitor = ${program}\n`);
  },
  'a filter in .gitattributes': (folder, program) => {
    for (const key of ['clean', 'smudge', 'process']) folder.git('config', `filter.evil.${key}`, program);
    folder.write('.gitattributes', '* filter=evil diff=evil merge=evil\n');
    folder.git('config', 'diff.evil.command', program);
    folder.git('config', 'diff.evil.textconv', program);
    folder.git('config', 'diff.external', program);
  },
  'a filter in .git/info/attributes': (folder, program) => {
    folder.git('config', 'filter.evil.clean', program);
    mkdirSync(join(folder.path, '.git/info'), { recursive: true });
    writeFileSync(join(folder.path, '.git/info/attributes'), '* filter=evil\n');
  },
  'a filter in core.attributesFile': (folder, program) => {
    folder.git('config', 'filter.evil.clean', program);
    folder.git('config', 'core.attributesFile', join(folder.path, 'attributes'));
    folder.write('attributes', '* filter=evil\n');
  },
  'a filter with the name of Git LFS': (folder, program) => {
    folder.git('config', 'filter.lfs.clean', program);
    folder.git('config', 'lfs.extension.evil.clean', program);
    folder.write('.gitattributes', '* filter=lfs\n');
  },
  hooks: (folder, program) => writeHooks(folder, '.git/hooks', program),
  'core.hooksPath': (folder, program) => {
    writeHooks(folder, 'hooks', program);
    folder.git('config', 'core.hooksPath', 'hooks');
  },
  'a lazy fetch': makePartial,
  'a submodule': (folder, program) => {
    const sub = join(folder.path, 'sub');
    git(folder.path, ['init', '--quiet', sub]);
    git(sub, ['commit', '--quiet', '--allow-empty', '-m', 'sub']);
    folder.git('add', 'sub');
    git(sub, ['config', 'core.fsmonitor', program]);
    writeFileSync(join(sub, 'untracked'), '');
  },
};

function change(folder: Folder): void {
  folder.write('README.md', 'changed\n');
  folder.write('new.txt', 'new\n');
}

const carried = ({ creation }: Awaited<ReturnType<typeof prepareFolder>>) =>
  Buffer.from(creation.workspace_patch?.patch ?? '', 'base64').toString();

const agentPatch =
  'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,3 @@\n a\n-b\n+agent\n c\n';

describe('a repository that names programs', () => {
  for (const [what, spoil] of Object.entries(preparations)) {
    it(`cannot run one when its folder is carried along: ${what}`, async (t) => {
      const folder = await cloneFolder(t);
      const program = createProgram(t);
      spoil(folder, program.path);
      change(folder);
      const patch = carried(await prepareFolder(folder.path));
      assert.equal(program.ran(), '');
      assert.match(patch, /^\+changed$/m);
      assert.match(patch, /^\+new$/m);
    });

    it(`cannot run one when the work of an agent is brought back: ${what}`, async (t) => {
      const folder = await cloneFolder(t);
      const program = createProgram(t);
      spoil(folder, program.path);
      folder.write('src/a.ts', 'a\nb\nc\nmine\n');
      const location = await locateFolder(folder.path);
      await withUntrustedGit(location, async (run) => {
        const patch = await readPulledPatch(run, new Blob([`# base: ${folder.pushed}\n${agentPatch}`]));
        const pulled = await pullBranch({ git: run, patch, name: 'parley/x', message: 'x' });
        assert.deepEqual(pulled, { branch: 'parley/x', isNew: true });
        const options = { git: run, patch, top: folder.path, hasRepository: true };
        const applied = await pullChanges({
          ...options,
          mayGoOn: async () => true,
          backupRef: 'refs/parley/b',
        });
        assert.deepEqual(applied, { outcome: 'applied', backup: 'refs/parley/b' });
      });
      assert.equal(program.ran(), '');
      assert.equal(readFileSync(join(folder.path, 'src/a.ts'), 'utf8'), 'a\nagent\nc\nmine\n');
      const show = (name: string) => git(folder.path, ['-c', 'core.fsmonitor=false', 'show', name]);
      assert.equal(show('parley/x:src/a.ts'), 'a\nagent\nc');
      assert.equal(show('refs/parley/b:src/a.ts'), 'a\nb\nc\nmine');
    });
  }

  it('does not fetch what is missing, but says so', async (t) => {
    const folder = await cloneFolder(t);
    const program = createProgram(t);
    makePartial(folder, program.path);
    const blob = folder.git('rev-parse', 'HEAD:README.md');
    rmSync(join(folder.path, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true });
    change(folder);
    await assert.rejects(prepareFolder(folder.path), /lacks objects of the commit.*partial clone/);
    assert.equal(program.ran(), '');
  });

  it('still applies what its configuration says about files and remotes', async (t) => {
    const folder = await cloneFolder(t);
    folder.git('config', 'core.excludesFile', join(folder.path, 'my "excludes"'));
    folder.write('my "excludes"', 'secret.txt\nmy*\n');
    folder.write('secret.txt', 'secret');
    folder.git('config', 'core.fileMode', 'false');
    chmodSync(join(folder.path, 'README.md'), 0o755);
    folder.git('config', 'url.https://github.com/.insteadOf', 'gh:');
    folder.git('remote', 'set-url', 'origin', 'gh:team/app');
    const prepared = await prepareFolder(folder.path);
    assert.equal(prepared.creation.repository, 'https://github.com/team/app');
    assert.equal(carried(prepared), '');
  });

  it('gets the filters of the user', async (t) => {
    const folder = await cloneFolder(t);
    folder.write('.gitattributes', '*.bin filter=upper\n');
    folder.write('a.bin', 'abc\n');
    const config = join(temporaryFolder(t), 'config');
    git(folder.path, ['config', '--file', config, 'filter.upper.clean', 'tr a-z A-Z']);
    const before = process.env['GIT_CONFIG_GLOBAL'];
    t.after(() => {
      if (before === undefined) delete process.env['GIT_CONFIG_GLOBAL'];
      else process.env['GIT_CONFIG_GLOBAL'] = before;
    });
    process.env['GIT_CONFIG_GLOBAL'] = config;
    assert.match(carried(await prepareFolder(folder.path)), /^\+ABC$/m);
  });
});

describe('a folder that names another repository', () => {
  async function another(t: TestContext) {
    const folder = await cloneFolder(t);
    folder.write('private.txt', 'private\n');
    folder.git('add', 'private.txt');
    folder.git('commit', '--quiet', '-m', 'private');
    return folder;
  }

  const pointers: Readonly<Record<string, (folder: string, repository: string) => void>> = {
    'a .git file': (folder, repository) => writeFileSync(join(folder, '.git'), `gitdir: ${repository}\n`),
    'a link': (folder, repository) => symlinkSync(repository, join(folder, '.git')),
    commondir: (folder, repository) => {
      git(folder, ['init', '--quiet', '.']);
      writeFileSync(join(folder, '.git/commondir'), repository);
    },
    'a worktree that the repository does not know': (folder, repository) => {
      const state = join(folder, 'state/worktrees/x');
      mkdirSync(state, { recursive: true });
      writeFileSync(join(folder, '.git'), `gitdir: ${state}\n`);
      writeFileSync(join(state, 'HEAD'), 'ref: refs/heads/main\n');
      writeFileSync(join(state, 'gitdir'), join(folder, '.git'));
      writeFileSync(join(state, 'commondir'), repository);
    },
    'linked branches and alternates': (folder, repository) => {
      git(folder, ['init', '--quiet', '--initial-branch=main', '.']);
      rmSync(join(folder, '.git/refs'), { recursive: true });
      symlinkSync(join(repository, 'refs'), join(folder, '.git/refs'));
      writeFileSync(join(folder, '.git/objects/info/alternates'), `${repository}/objects\n`);
    },
    'one linked branch and alternates': (folder, repository) => {
      git(folder, ['init', '--quiet', '--initial-branch=main', '.']);
      symlinkSync(join(repository, 'refs/heads/main'), join(folder, '.git/refs/heads/main'));
      writeFileSync(join(folder, '.git/objects/info/alternates'), `${repository}/objects\n`);
    },
  };
  for (const [what, point] of Object.entries(pointers))
    it(`gets nothing of it: ${what}`, async (t) => {
      const other = await another(t);
      const folder = plainFolder(t);
      point(folder.path, join(other.path, '.git'));
      folder.write('own.txt', 'own\n');
      const prepared = await prepareFolder(folder.path);
      assert.equal(prepared.creation.repository, undefined);
      assert.doesNotMatch(carried(prepared), /private|README/);
      assert.match(carried(prepared), /^\+own$/m);
      assert.match(prepared.notes.join(), /points to a repository elsewhere/);
    });

  it('gets nothing of a folder that core.worktree names', async (t) => {
    const secrets = plainFolder(t);
    secrets.write('id_rsa', 'private\n');
    for (const worktree of [secrets.path, tmpdir()]) {
      const folder = plainFolder(t);
      folder.git('init', '--quiet', '.');
      folder.write('own.txt', 'own\n');
      folder.git('config', 'core.worktree', worktree);
      const prepared = await prepareFolder(folder.path);
      assert.equal(prepared.creation.client_folder, folder.path);
      assert.doesNotMatch(carried(prepared), /private/);
      assert.match(carried(prepared), /^\+own$/m);
    }
  });

  it('is carried along as usual if the repository names it: a linked worktree, a submodule', async (t) => {
    const main = await another(t);
    const linked = join(temporaryFolder(t), 'linked');
    main.git('worktree', 'add', '--quiet', '-b', 'mine', linked);
    writeFileSync(join(linked, 'new.txt'), 'new\n');
    const prepared = await prepareFolder(linked);
    assert.equal(prepared.creation.workspace_patch?.base_commit, main.pushed);
    assert.match(carried(prepared), /^\+new$/m);
    assert.equal(prepared.creation.client_folder, linked);

    const outer = plainFolder(t);
    outer.git('init', '--quiet', '.');
    outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', main.repository, 'sub');
    const sub = join(outer.path, 'sub');
    git(sub, ['remote', 'set-url', 'origin', 'https://github.com/team/app.git']);
    appendFileSync(join(sub, 'README.md'), 'more\n');
    const inside = await prepareFolder(sub);
    assert.equal(inside.creation.repository, 'https://github.com/team/app');
    assert.match(carried(inside), /^\+more$/m);
  });
});

describe('git on a folder', () => {
  it('ends in time with everything that it has started', async (t) => {
    const folder = plainFolder(t);
    const pid = join(folder.path, 'pid');
    // The grandchild keeps the output open.
    const script = `!sleep 1000 & echo $! > '${pid}'; wait`;
    const late = runGit(folder.path, ['-c', `alias.hang=${script}`, 'hang'], { timeoutMs: 500 });
    await assert.rejects(late, /git hang did not end in time/);
    const started = readFileSync(pid, 'utf8').trim();
    // Nobody may have collected its exit status yet.
    const state = () =>
      existsSync(`/proc/${started}`) ? readFileSync(`/proc/${started}/stat`, 'utf8').split(') ')[1] : 'Z';
    await until('the grandchild is dead', () => state()?.startsWith('Z'));
  });

  it('does not wait for a program that has left its process group', async (t) => {
    const folder = plainFolder(t);
    const pid = join(folder.path, 'pid');
    const script = `!setsid sh -c 'echo $$ > "${pid}"; exec sleep 1000' & while [ ! -s '${pid}' ]; do sleep 0.01; done; echo done`;
    const { stdout } = await runGit(folder.path, ['-c', `alias.leave=${script}`, 'leave']);
    process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
    assert.equal(stdout.toString(), 'done\n');
  });

  it('removes its files if the folder cannot be read', async (t) => {
    const own = temporaryFolder(t);
    const before = process.env['TMPDIR'];
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    const folder = await cloneFolder(t);
    renameSync(join(folder.path, '.git/objects'), join(folder.path, '.git/gone'));
    mkdirSync(join(folder.path, '.git/objects'));
    process.env['TMPDIR'] = own;
    await assert.rejects(prepareFolder(folder.path), RefusalError);
    assert.deepEqual(readdirSync(own), []);
  });

  it('reads a split index', async (t) => {
    const folder = await cloneFolder(t);
    folder.git('update-index', '--split-index');
    change(folder);
    const patch = carried(await prepareFolder(folder.path));
    assert.deepEqual(patch.match(/^diff --git .*$/gm)?.length, 2);
  });
});
