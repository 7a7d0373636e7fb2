// The package as others install it: packed, installed in an empty folder and for the whole machine, and used.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createScriptedModel, listenScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { mib } from '../../src/validation/schema.ts';
import { modelKey, modelName } from '../support/builtinRuns.ts';
import { databaseKinds } from '../support/databases.ts';
import { runNpm } from '../support/npm.ts';
import { createSite, untilListening } from '../support/process.ts';
import { projectDir } from '../support/program.ts';
import { ask } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
const project = join(folder, 'project');
const bare = join(folder, 'bare');
const machine = join(folder, 'machine');
const command = join(project, 'node_modules/.bin/parley');
const manifest = () => JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8'));
/** Without the Node that runs this test. */
const PATH = '/usr/local/bin:/usr/bin:/bin';
const nodePackage = /^node-/;
/** Everything but Node. */
const installedBytesMax = 60 * mib;

function install(prefix: string, ...flags: readonly string[]): Promise<void> {
  const tarball = join(folder, `parleyd-${manifest().version}.tgz`);
  return runNpm(['install', `--prefix=${prefix}`, '--prefer-offline', ...flags, tarball]);
}

/** The size of all files but those of Node. */
function installedBytes(): number {
  const root = join(project, 'node_modules');
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !nodePackage.test(relative(root, path)))
    .reduce((sum, path) => sum + statSync(path).size, 0);
}

describe('the package', () => {
  let original: string;

  before(async () => {
    original = readFileSync(join(projectDir, 'package.json'), 'utf8');
    await runNpm(['pack', `--pack-destination=${folder}`, projectDir]);
    for (const one of [project, bare]) {
      mkdirSync(one);
      writeFileSync(join(one, 'package.json'), '{}');
    }
    await install(project);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('leaves the manifest of the repository as it was', () => {
    assert.equal(readFileSync(join(projectDir, 'package.json'), 'utf8'), original);
  });

  it('installs neither development tools nor what is in the build', () => {
    const packages = readdirSync(join(project, 'node_modules'));
    const unneeded = ['vite', 'esbuild', 'react', 'fastify', 'typescript', 'playwright-core'];
    assert.deepEqual(
      packages.filter((name) => unneeded.includes(name)),
      [],
    );
    const bytes = installedBytes();
    assert.ok(bytes <= installedBytesMax, `${Math.ceil(bytes / mib)} MiB`);
  });

  for (const kind of databaseKinds)
    it(`serves the web UI and runs a task (${kind})`, async (t) => {
      const model = createScriptedModel([{ run: 'echo from the package >made.txt' }, { say: 'It is made.' }]);
      const { origin, close } = await listenScriptedModel(model);
      t.after(close);
      const site = await createSite(kind, t);
      const home = site.createDir();
      const env = {
        ...site.environment(),
        PATH,
        HOME: home,
        PARLEY_ROLE: 'all',
        PARLEY_MODEL_HOSTS: `deepseek=${origin}`,
        LLM_API_KEY: modelKey,
      };
      const service = site.spawn(command, ['serve'], env);
      const url = await untilListening(service);
      const page = await (await fetch(url)).text();
      const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? '';
      assert.match(
        (await fetch(new URL(script, url))).headers.get('content-type') ?? '',
        /^text\/javascript/,
      );

      const key = readFileSync(join(site.storage.dataDir, 'owner.key'), 'utf8').trim();
      const settings = { agent: null, llm_model: modelName, llm_api_key: modelKey };
      assert.equal((await ask(url, '/api/settings', { key, json: settings })).status, 200);
      const task = site.spawn(command, ['run', 'Make a file'], {
        PATH,
        HOME: home,
        PARLEY_URL: url,
        PARLEY_KEY: key,
      });
      const { code, stdout, stderr } = await task.ended();
      assert.equal(code, 0, stderr);
      assert.match(stdout, /It is made\./);
      const { body: listed } = await ask(url, '/api/conversations', { key });
      const [{ conversation_id: id }] = listed.results;
      const file = await ask(url, `/api/conversations/${id}/select-file?file=made.txt`, { key });
      assert.equal(file.body.code, 'from the package\n');
      service.send('SIGTERM');
      assert.equal((await service.ended()).code, 0);
    });

  it('is a command of the whole machine', async (t) => {
    await install(machine, '--global');
    const site = await createSite('sqlite', t);
    const bin = join(machine, 'bin');
    const { code, stdout, stderr } = await site
      .spawn(join(bin, 'parley'), ['help'], { PATH: `${bin}:${PATH}`, HOME: site.createDir() })
      .ended();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Start the service with: parley serve/);
  });

  it('says what to do if npm left out the Node that it needs', async (t) => {
    await install(bare, '--omit=optional');
    const site = await createSite('sqlite', t);
    const { code, stderr } = await site
      .spawn(join(bare, 'node_modules/.bin/parley'), ['version'], { PATH, HOME: site.createDir() })
      .ended();
    assert.equal(code, 2);
    assert.match(stderr, /Install Parley again, with optional dependencies\./);
  });
});
