import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { builtinSettings, listenForModel } from '../support/builtinRuns.ts';
import { createSite } from '../support/process.ts';
import { projectDir } from '../support/program.ts';
import { temporaryFolder } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { uploadFiles } from '../support/uploads.ts';
import { createWorkerSite } from '../support/workers.ts';
import { git, newConversationFolder, putFiles } from '../support/workspace.ts';

const build = () => execFileSync(process.execPath, ['build.ts'], { cwd: projectDir, timeout: 240_000 });

describe('the built program', { timeout: 240_000 }, () => {
  it('serves as the sources do', async (t) => {
    build();
    // A cell can read the folder of this program and nothing around it.
    assert.doesNotMatch(
      readFileSync(join(projectDir, 'dist/workspaces/read/inside/inspect.js'), 'utf8'),
      /(?:from|import) ?"\./,
    );
    const site = await createSite('sqlite', t, { main: join(projectDir, 'dist/main.js') });
    const service = await site.serve();
    const made = await service.ask('/api/conversations', { json: { initial_user_msg: 'built' } });
    assert.equal(made.status, 200, made.text);
    assert.equal((await service.ask('/api/settings')).status, 200);
    assert.ok((await service.ask('/api/options/models')).body.length > 10);
    const { id, folder } = await newConversationFolder({ ...service, storage: site.storage });
    mkdirSync(folder);
    git(folder, 'init', '--quiet');
    putFiles(folder, { 'a.txt': 'a' });
    const changes = await service.ask(`/api/conversations/${id}/git/changes`);
    assert.deepEqual(changes.body, [{ status: 'A', path: 'a.txt' }], changes.text);
    const { code, stdout } = await site.run(['keys', 'list']);
    assert.equal(code, 0);
    assert.match(stdout, /owner/);
    assert.match((await site.run(['agents', 'list', '--json'])).stdout, /"id":"opencode"/);
  });

  it('closes what the sources close: every declaration with using is kept', () => {
    const count = (folder: string, extension: string) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith(extension) && !name.endsWith('.test.ts'))
        .map((name) => readFileSync(join(folder, name), 'utf8').match(/\busing \w+ ?=/g)?.length ?? 0)
        .reduce((sum, found) => sum + found, 0);
    const declared = count(join(projectDir, 'src/agents/builtin'), '.ts');
    assert.ok(declared > 0);
    assert.ok(count(join(projectDir, 'dist-test/agents/builtin'), '.js') >= declared);
  });

  it('is what ./parley runs, unless a source is newer', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-built-'));
    t.after(() => rmSync(dir, { recursive: true }));
    copyFileSync(join(projectDir, 'parley'), join(dir, 'parley'));
    symlinkSync(join(projectDir, 'node_modules'), join(dir, 'node_modules'));
    for (const folder of ['src', 'dist']) mkdirSync(join(dir, folder));
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    writeFileSync(join(dir, 'src/main.ts'), "console.log('sources')");
    const run = () => execFileSync(join(dir, 'parley'), { encoding: 'utf8', timeout: 30_000 }).trim();
    assert.equal(run(), 'sources');
    writeFileSync(join(dir, 'dist/main.js'), "console.log('built')");
    const inSeconds = (s: number) => Date.now() / 1_000 + s;
    utimesSync(join(dir, 'dist/main.js'), inSeconds(10), inSeconds(10));
    assert.equal(run(), 'built');
    utimesSync(join(dir, 'src/main.ts'), inSeconds(20), inSeconds(20));
    assert.equal(run(), 'sources');
  });
});

describe('the sources', { timeout: 300_000 }, () => {
  it('run the built-in agent, read its workspace, write into it and store it, each in a sandbox, without a build', async (t) => {
    const model = createScriptedModel([{ run: 'echo made >made.txt' }, { say: 'The end.' }]);
    const { serve } = await createWorkerSite('sqlite', t, join(projectDir, 'src/main.ts'));
    const snapshots = temporaryFolder(t);
    const service = await serve({
      PARLEY_SANDBOX: 'auto',
      PARLEY_SNAPSHOTS: snapshots,
      ...(await listenForModel(t, model)),
    });
    await service.set(builtinSettings);
    const id = await service.create('from the sources');
    assert.deepEqual(await service.turns(id, 1), ['The end.']);
    const { body } = await uploadFiles(service, id, [['sent.txt', 'sent']]);
    assert.equal(body.files?.[0]?.path, '/workspace/sent.txt', JSON.stringify(body));
    const { body: files } = await service.ask(`/api/conversations/${id}/list-files`);
    assert.deepEqual(files, ['made.txt', 'sent.txt']);
    await until('a snapshot is stored', () => readdirSync(snapshots).length > 0);
  });
});
