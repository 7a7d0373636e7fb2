import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { chooseAgent } from './choose.ts';
import { findAgent, settingsFolder } from './find.ts';
import { loadProfiles, type Profile } from './profiles.ts';

const node = process.execPath;

function createTree(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-find-')));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (name: string, text: string, mode = 0o644) => {
    const file = join(root, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };
  return {
    root,
    write,
    /** As npm installs a package for all: a link among the programs, the rest under lib. */
    install: (name: string, { command = 'thing', prefix = 'usr', start = '#!/usr/bin/env node\n' } = {}) => {
      const folder = `${prefix}/lib/node_modules/${name}`;
      write(`${folder}/package.json`, JSON.stringify({ name, version: '1.2.3' }));
      write(`${folder}/dist/package.json`, '{"type":"module"}');
      const file = write(`${folder}/dist/main.js`, `${start}process.exit(1);\n`, 0o755);
      const bin = join(root, prefix, 'bin');
      mkdirSync(bin, { recursive: true });
      symlinkSync(`../lib/node_modules/${name}/dist/main.js`, join(bin, command));
      return { file, bin, linkPath: join(bin, command), tree: join(root, prefix, 'lib/node_modules') };
    },
  };
}

function profile(...programs: { command: string; package?: string }[]): Profile {
  return {
    id: 'thing',
    name: 'Thing',
    install: 'npm install -g thing',
    protocol: 'anthropic',
    programs: programs.map((program) => ({ ...program, args: [], env: {} })),
    readable: ['/etc/thing'],
  };
}

describe('finding an agent', () => {
  it('follows the link of an npm program, which the Node of Parley runs', async (t) => {
    const { file, bin, linkPath, tree } = createTree(t).install('@some/thing');
    const found = await findAgent(profile({ command: 'thing' }), ['/nonexistent', bin].join(delimiter));
    assert.equal(found?.foundAt, linkPath);
    assert.deepEqual(found.start, [node, file]);
    assert.deepEqual(found.readable, [tree, node, settingsFolder, '/etc/thing']);
    assert.equal(found.version, '1.2.3');
  });

  it('starts a program that is not for Node directly', async (t) => {
    const { write } = createTree(t);
    const file = write('bin/thing', '\x7fELF node', 0o755);
    const found = await findAgent(profile({ command: 'thing' }), dirname(file));
    assert.deepEqual(found?.start, [file]);
    assert.deepEqual(found.readable, [file, settingsFolder, '/etc/thing']);
    assert.equal(found.version, undefined);
  });

  it('does not expose a home that has a package.json, or that is a package itself', async (t) => {
    const { root, write } = createTree(t);
    const file = write('.thing/bin/thing', '\x7fELF', 0o755);
    write('package.json', JSON.stringify({ name: 'notes', version: '1.0.0' }));
    const found = await findAgent(profile({ command: 'thing' }), dirname(file));
    assert.deepEqual(found?.readable, [file, settingsFolder, '/etc/thing']);
    assert.equal(found.version, undefined);

    write('package.json', JSON.stringify({ name: 'notes', bin: '.thing/bin/thing' }));
    const before = process.env['HOME'];
    process.env['HOME'] = root;
    t.after(() => {
      process.env['HOME'] = before;
    });
    const listed = await findAgent(profile({ command: 'thing' }), dirname(file));
    assert.deepEqual(listed?.readable, [file, settingsFolder, '/etc/thing']);
  });

  it('exposes the package that lists the program, wherever it is', async (t) => {
    const { root, write } = createTree(t);
    const file = write('src/thing/dist/main.js', '#!/usr/bin/env node\n', 0o755);
    write('src/package.json', JSON.stringify({ name: 'around' }));
    for (const bin of ['./dist/main.js', { thing: 'dist/main.js' }]) {
      write('src/thing/package.json', JSON.stringify({ name: 'thing', version: '1.2.3', bin }));
      const found = await findAgent(profile({ command: 'main.js', package: 'thing' }), dirname(file));
      assert.equal(found?.readable[0], join(root, 'src/thing'));
      assert.equal(found.version, '1.2.3');
    }
  });

  it('ignores files that are not programs, and relative paths', async (t) => {
    const { root, write } = createTree(t);
    write('plain/thing', 'x');
    mkdirSync(join(root, 'folder/thing'), { recursive: true });
    mkdirSync(join(root, 'dangling'));
    symlinkSync('/nonexistent', join(root, 'dangling/thing'));
    const path = [join(root, 'plain'), join(root, 'folder'), join(root, 'dangling'), '.', ''].join(delimiter);
    assert.equal(await findAgent(profile({ command: 'thing' }), path), undefined);
  });

  it('distinguishes two packages with a program of the same name', async (t) => {
    const tree = createTree(t);
    const first = tree.install('@a/thing', { prefix: 'one' });
    const second = tree.install('@b/thing', { prefix: 'two' });
    const path = [first.bin, second.bin].join(delimiter);
    const wanted = profile({ command: 'thing', package: '@b/thing' });
    assert.equal((await findAgent(wanted, path))?.foundAt, second.linkPath);
    assert.equal(await findAgent(wanted, first.bin), undefined);
  });

  it('uses the first program of the profile that is installed', async (t) => {
    const { bin } = createTree(t).install('old-thing', { command: 'old' });
    const found = await findAgent(profile({ command: 'new' }, { command: 'old' }), bin);
    assert.equal(found?.program.command, 'old');
  });
});

describe('finding a program of Parley itself', () => {
  const own = (file: string): Profile => ({
    ...profile({ command: 'x' }),
    programs: [{ own: file, args: [], env: {} }],
  });

  it('runs it with the Node of Parley, and can read all of Parley', async () => {
    const found = await findAgent(own('main.ts'), '/nonexistent');
    const main = resolve(import.meta.dirname, '../main.ts');
    assert.deepEqual(found?.start, [node, main]);
    const packages = realpathSync(resolve(import.meta.dirname, '../../node_modules'));
    assert.deepEqual(found.readable.slice(0, 3), [dirname(main), packages, node]);
  });

  it('finds nothing if it is not part of this version', async () => {
    assert.equal(await findAgent(own('nonexistent/main.ts'), '/nonexistent'), undefined);
  });
});

describe('choosing an agent', () => {
  it('returns the profile and the found agent', async (t) => {
    const { bin } = createTree(t).install('opencode-ai', { command: 'opencode' });
    const choice = await chooseAgent(loadProfiles(), 'opencode', bin);
    assert.ok(choice.missing === undefined);
    assert.equal(choice.profile.id, 'opencode');
    assert.equal(choice.found.version, '1.2.3');
  });

  it('names the command that installs a missing agent', async () => {
    const { missing } = await chooseAgent(loadProfiles(), 'qwen', '/nonexistent');
    assert.match(missing ?? '', /qwen .*not installed.*npm install -g @qwen-code\/qwen-code$/);
  });

  it('lists the known agents if the name is unknown', async () => {
    const { missing } = await chooseAgent(loadProfiles(), `x"\n${'y'.repeat(1_000)}`, '/nonexistent');
    assert.match(missing ?? '', /^There is no agent named "x\\"\\ny+"\. Known are: builtin, opencode, /);
    assert.ok((missing ?? '').length < 300);
  });
});
