import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { mainFile } from '../../test/support/program.ts';
import { chooseAgent } from './choose.ts';
import { type AgentSearch, type FoundAgent, findAgent, settingsFolder } from './find.ts';
import type { Profile } from './profileSchema.ts';
import { loadProfiles } from './profiles.ts';

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

/** Undefined if it is not installed. */
async function find(wanted: Profile, places: AgentSearch): Promise<FoundAgent | undefined> {
  const found = await findAgent(wanted, places);
  return 'lacks' in found ? undefined : found;
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
    const found = await find(profile({ command: 'thing' }), { path: ['/nonexistent', bin].join(delimiter) });
    assert.equal(found?.foundAt, linkPath);
    assert.deepEqual(found.start, [node, file]);
    assert.deepEqual(found.readable, [tree, node, settingsFolder, '/etc/thing']);
    assert.equal(found.version, '1.2.3');
  });

  it('starts a program that is not for Node directly', async (t) => {
    const { write } = createTree(t);
    const file = write('bin/thing', '\x7fELF node', 0o755);
    const found = await find(profile({ command: 'thing' }), { path: dirname(file) });
    assert.deepEqual(found?.start, [file]);
    assert.deepEqual(found.readable, [file, settingsFolder, '/etc/thing']);
    assert.equal(found.version, undefined);
  });

  it('does not expose a home that has a package.json, or that is a package itself', async (t) => {
    const { root, write } = createTree(t);
    const file = write('.thing/bin/thing', '\x7fELF', 0o755);
    write('package.json', JSON.stringify({ name: 'notes', version: '1.0.0' }));
    const found = await find(profile({ command: 'thing' }), { path: dirname(file) });
    assert.deepEqual(found?.readable, [file, settingsFolder, '/etc/thing']);
    assert.equal(found.version, undefined);

    write('package.json', JSON.stringify({ name: 'notes', bin: '.thing/bin/thing' }));
    const before = process.env['HOME'];
    process.env['HOME'] = root;
    t.after(() => {
      process.env['HOME'] = before;
    });
    const listed = await find(profile({ command: 'thing' }), { path: dirname(file) });
    assert.deepEqual(listed?.readable, [file, settingsFolder, '/etc/thing']);
  });

  it('exposes the package that lists the program, wherever it is', async (t) => {
    const { root, write } = createTree(t);
    const file = write('src/thing/dist/main.js', '#!/usr/bin/env node\n', 0o755);
    write('src/package.json', JSON.stringify({ name: 'around' }));
    for (const bin of ['./dist/main.js', { thing: 'dist/main.js' }]) {
      write('src/thing/package.json', JSON.stringify({ name: 'thing', version: '1.2.3', bin }));
      const found = await find(profile({ command: 'main.js', package: 'thing' }), { path: dirname(file) });
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
    assert.equal(await find(profile({ command: 'thing' }), { path }), undefined);
  });

  it('distinguishes two packages with a program of the same name', async (t) => {
    const tree = createTree(t);
    const first = tree.install('@a/thing', { prefix: 'one' });
    const second = tree.install('@b/thing', { prefix: 'two' });
    const path = [first.bin, second.bin].join(delimiter);
    const wanted = profile({ command: 'thing', package: '@b/thing' });
    assert.equal((await find(wanted, { path }))?.foundAt, second.linkPath);
    assert.equal(await find(wanted, { path: first.bin }), undefined);
  });

  it('uses the first program of the profile that is installed', async (t) => {
    const { bin } = createTree(t).install('old-thing', { command: 'old' });
    const found = await find(profile({ command: 'new' }, { command: 'old' }), { path: bin });
    assert.equal(found?.program.command, 'old');
  });
});

describe('finding an agent that is installed in the data folder', () => {
  /** As `agents install` leaves it. */
  function installed(t: TestContext, name: string, bins: Record<string, string>) {
    const tree = createTree(t);
    const folder = 'agents/thing/1.2.3-ab';
    const inside = `${folder}/lib/node_modules/${name}`;
    tree.write(`${inside}/package.json`, JSON.stringify({ name, version: '1.2.3', bin: bins }));
    for (const file of Object.values(bins)) tree.write(`${inside}/${file}`, '#!/usr/bin/env node\n', 0o755);
    mkdirSync(join(tree.root, folder, 'bin'));
    for (const [command, file] of Object.entries(bins))
      symlinkSync(join(tree.root, inside, file), join(tree.root, folder, 'bin', command));
    const record = { folder: '1.2.3-ab', packages: [], installed_at: '2026-01-01T00:00:00.000Z' };
    const writeRecord = (change: object) =>
      tree.write('agents/thing/installed.json', JSON.stringify({ ...record, ...change }));
    writeRecord({});
    const agentsDir = join(tree.root, 'agents');
    return { ...tree, agentsDir, writeRecord, main: (file: string) => join(tree.root, inside, file) };
  }

  it('prefers it to the one in PATH', async (t) => {
    const { agentsDir, install, main } = installed(t, 'thing', { thing: 'main.js' });
    const { bin } = install('thing', { prefix: 'usr' });
    const found = await find(profile({ command: 'thing' }), { agentsDir, path: bin });
    assert.deepEqual(found?.start, [node, main('main.js')]);
    assert.equal(found.readable[0], join(agentsDir, 'thing/1.2.3-ab/lib/node_modules'));
  });

  it('ignores an installation without a record, and a record that points elsewhere', async (t) => {
    const { agentsDir, root, writeRecord } = installed(t, 'thing', { thing: 'main.js' });
    const search = () => find(profile({ command: 'thing' }), { agentsDir, path: '' });
    for (const folder of ['..', '../thing/1.2.3-ab', '/etc', '.part-1-ab', 7]) {
      writeRecord({ folder });
      assert.equal(await search(), undefined, String(folder));
    }
    rmSync(join(root, 'agents/thing/installed.json'));
    assert.equal(await search(), undefined);
  });

  it('finds the program that npx would run if the profile names only the package', async (t) => {
    const only = { package: '@some/thing', args: [], env: {} };
    const wanted = { ...profile({ command: 'x' }), programs: [only] };
    const one = installed(t, '@some/thing', { other: 'other.js' });
    const { agentsDir } = one;
    assert.deepEqual((await find(wanted, { agentsDir, path: '' }))?.start, [node, one.main('other.js')]);
    const two = installed(t, '@some/thing', { other: 'other.js', thing: 'thing.js' });
    const found = await find(wanted, { agentsDir: two.agentsDir, path: '' });
    assert.deepEqual(found?.start, [node, two.main('thing.js')]);
    const none = installed(t, '@some/thing', { a: 'a.js', b: 'b.js' });
    assert.equal(await find(wanted, { agentsDir: none.agentsDir, path: '' }), undefined);
    assert.equal(await find(wanted, { agentsDir: '/nonexistent', path: '' }), undefined);
  });
});

describe('what an agent needs', () => {
  it('includes its helpers, which it must be able to read, too', async (t) => {
    const tree = createTree(t);
    const agent = tree.install('thing', { prefix: 'one' });
    const helper = tree.install('@b/helper', { prefix: 'two', command: 'helper' });
    const needs = [{ command: 'helper', package: '@b/helper' }];
    const wanted = {
      ...profile({ command: 'x' }),
      programs: [{ command: 'thing', args: [], env: {}, needs }],
    };
    const found = await find(wanted, { path: [agent.bin, helper.bin].join(delimiter) });
    assert.deepEqual(found?.helpers, [{ command: 'helper', start: [node, helper.file] }]);
    assert.deepEqual(found.readable, [agent.tree, node, helper.tree, settingsFolder, '/etc/thing']);

    assert.deepEqual(await findAgent(wanted, { path: agent.bin }), { lacks: 'helper', command: 'helper' });
    const { missing } = await chooseAgent([wanted], 'thing', { path: agent.bin });
    assert.match(missing ?? '', /needs the program helper, which is not installed\. Install it with: npm/);
  });

  it('may be a newer Node than that of Parley', async (t) => {
    const { bin } = createTree(t).install('thing');
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    const wanted = (version: string) => ({ ...profile({ command: 'thing' }), node: version });
    for (const old of ['20', `${major}`, `${major}.${minor}`, `${major - 1}.99.99`])
      assert.ok((await find(wanted(old), { path: bin })) !== undefined, old);
    for (const late of [`${major + 1}`, `${major}.${minor + 1}`]) {
      assert.deepEqual(await findAgent(wanted(late), { path: bin }), { lacks: 'node', version: late });
      const { missing } = await chooseAgent([wanted(late)], 'thing', { path: bin });
      assert.match(missing ?? '', /needs Node .* or newer, but Parley runs on Node \d/);
    }
  });
});

describe('finding a program of Parley itself', () => {
  const own = (file: string): Profile => ({
    ...profile({ command: 'x' }),
    programs: [{ own: file, args: [], env: {} }],
  });

  it('runs it with the Node of Parley, and can read all of Parley', async () => {
    const found = await find(own('main.ts'), { path: '/nonexistent' });
    assert.deepEqual(found?.start, [node, mainFile]);
    const packages = realpathSync(resolve(import.meta.dirname, '../../node_modules'));
    assert.deepEqual(found.readable.slice(0, 3), [dirname(mainFile), packages, node]);
  });

  it('finds nothing if it is not part of this version', async () => {
    assert.equal(await find(own('nonexistent/main.ts'), { path: '/nonexistent' }), undefined);
  });
});

describe('choosing an agent', () => {
  it('returns the profile and the found agent', async (t) => {
    const { bin } = createTree(t).install('opencode-ai', { command: 'opencode' });
    const choice = await chooseAgent(loadProfiles(), 'opencode', { path: bin });
    assert.ok(choice.missing === undefined);
    assert.equal(choice.profile.id, 'opencode');
    assert.equal(choice.found.version, '1.2.3');
  });

  it('names the command that installs a missing agent', async () => {
    const { missing } = await chooseAgent(loadProfiles(), 'qwen', { path: '/nonexistent' });
    assert.match(missing ?? '', /qwen .*not installed.*parley agents install qwen$/);
  });

  it('lists the known agents if the name is unknown', async () => {
    const { missing } = await chooseAgent(loadProfiles(), `x"\n${'y'.repeat(1_000)}`, {
      path: '/nonexistent',
    });
    assert.match(missing ?? '', /^There is no agent named "x\\"\\ny+"\. Known agents: builtin, opencode, /);
    assert.ok((missing ?? '').length < 300);
  });
});
