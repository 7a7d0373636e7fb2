// The client as others get it: packed, installed in an empty folder without a network, and used.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { projectDir } from '../support/program.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'parley-library-'));
const installed = join(folder, 'node_modules/parley');

function npm(cwd: string, ...args: readonly string[]) {
  const env = {
    ...process.env,
    npm_config_cache: join(folder, 'cache'),
    npm_config_update_notifier: 'false',
  };
  return run('npm', args, { cwd, env });
}

/** What the compiler says of a file; empty where it is content. */
async function compile(file: string, ...options: readonly string[]): Promise<string> {
  const tsc = join(projectDir, 'node_modules/typescript/lib/tsc.js');
  const args = [tsc, '--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', ...options, file];
  return run(process.execPath, args, { cwd: folder }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
}

describe('the library', () => {
  before(async () => {
    await npm(join(projectDir, 'client'), 'pack', '--pack-destination', folder);
    const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    writeFileSync(join(folder, 'package.json'), '{"name":"empty","version":"1.0.0","type":"module"}');
    await npm(folder, 'install', '--offline', '--no-audit', '--no-fund', `./${tarball}`);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is all that is installed, in the version of the service, and holds no source', () => {
    const packages = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(packages, ['parley']);
    const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
    assert.equal(
      read(join(installed, 'package.json')).version,
      read(join(projectDir, 'package.json')).version,
    );
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')),
      [],
    );
    assert.ok(files.includes('README.md') && files.includes('lib/LICENSE'));
  });

  it('is used from plain JavaScript', async (t) => {
    const service = await startService({}, t);
    writeFileSync(
      join(folder, 'use.js'),
      `import { createParley, ParleyError } from 'parley/client';
       const parley = createParley({ url: process.env.PARLEY_URL, key: process.env.PARLEY_KEY });
       const made = await parley.conversations.create({ initial_user_msg: 'Hello' });
       for await (const event of parley.events(made.conversation_id)) {
         console.log(event.id, event.args?.content ?? event.extras?.agent_state);
         if (event.id === 1) break;
       }
       await parley.settings.update({ max_iterations: 0 }).catch((error) => {
         console.log(error instanceof ParleyError, error.code);
       });`,
    );
    const env = { PATH: process.env['PATH'], PARLEY_URL: service.url, PARLEY_KEY: service.key };
    const { stdout } = await run(process.execPath, ['use.js'], { cwd: folder, env });
    assert.equal(stdout, '0 Hello\n1 loading\ntrue invalid\n');
  });

  it('has types for pages and for Node, which need nothing else', async () => {
    writeFileSync(
      join(folder, 'use.ts'),
      `import { createParley, type Settings } from 'parley/client';
       const parley = createParley({ url: '' });
       export const settings: Promise<Settings> = parley.settings.update({ language: 'de', mcp_config: null });
       export const title: Promise<string> = parley.conversations.get('a').then((info) => info.title);
       for await (const event of parley.events('a', { from: 1 })) if (event.id === 1) break;
       // @ts-expect-error
       parley.settings.update({ langauge: 'de' });
       // @ts-expect-error
       parley.conversations.confirm('a', { decision: 'maybe' });`,
    );
    const options = ['--target', 'es2022', '--exactOptionalPropertyTypes', '--types'];
    assert.equal(await compile('use.ts', ...options, '', '--lib', 'es2022,dom'), '');
  });

  it('has the very types of the schemas', async () => {
    const source = readFileSync(join(projectDir, 'src/client/wire.ts'), 'utf8');
    const names = [...source.matchAll(/^export type (\w+) =/gm)].map(([, name]) => name);
    assert.ok(names.length > 30);
    mkdirSync(join(folder, 'same'));
    writeFileSync(
      join(folder, 'same/same.ts'),
      `import type * as Library from 'parley/client';
       import type * as Source from '${join(projectDir, 'src/client/wire.ts')}';
       type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : Both<A, B>;
       type Both<A, B> = [A, B] extends [B, A] ? true : false;
       ${names.map((name) => `export const ${name}: Same<Source.${name}, Library.${name}> = true;`).join('\n')}`,
    );
    const types = ['--typeRoots', join(projectDir, 'node_modules/@types'), '--types', 'node'];
    const strict = ['--exactOptionalPropertyTypes', '--allowImportingTsExtensions', '--skipLibCheck'];
    assert.equal(await compile('same/same.ts', '--target', 'esnext', ...types, ...strict), '');
  });
});
