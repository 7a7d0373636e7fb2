// `parley agents install`, `add` and `remove`, as a person runs them: the real npm with a registry on loopback.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findNpm } from '../../src/agents/install/npm.ts';
import { startNpmRegistry } from '../support/npmRegistry.ts';
import { mainFile } from '../support/program.ts';

const manifest = {
  id: 'some-agent',
  name: 'Some agent',
  version: '1.2.3',
  distribution: { npx: { package: '@some/agent@1.2.3', args: ['--acp'] } },
};
const agent = {
  name: '@some/agent',
  version: '1.2.3',
  manifest: { bin: 'main.js' },
  files: { 'main.js': '#!/usr/bin/env node\n' },
};

async function prepare(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-install-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const registry = await startNpmRegistry(t, [agent]);
  const dataDir = join(folder, 'data');
  const env = {
    PATH: [dirname(findNpm().at(-1) ?? ''), '/usr/bin', '/bin'].join(':'),
    HOME: folder,
    PARLEY_DATA_DIR: dataDir,
    SESSION_API_KEY: 'a-secret-of-the-service',
    npm_config_registry: registry,
  };
  const parley = async (...words: string[]) => {
    const child = spawn(process.execPath, [mainFile, 'agents', ...words], { env });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece;
    });
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      stderr += piece;
    });
    const status = await new Promise((resolve) => child.once('close', resolve));
    return { status, stdout, stderr };
  };
  const write = (name: string, content: unknown) => {
    const file = join(folder, name);
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  return { parley, write, dataDir, agentsFile: join(dataDir, 'agents.json') };
}

describe('parley agents', () => {
  it('add, install, list and remove an agent of a manifest', async (t) => {
    const { parley, write, dataDir, agentsFile } = await prepare(t);
    const added = await parley('add', write('m.json', manifest), '--protocol', 'anthropic');
    assert.equal(added.status, 0, added.stderr);
    assert.match(
      added.stdout,
      /^Added some-agent \(Some agent\)\. Install it with: parley agents install some-agent\n/,
    );
    assert.equal(statSync(agentsFile).mode & 0o777, 0o644);

    const installed = await parley('install', 'some-agent');
    assert.equal(installed.status, 0, installed.stderr);
    assert.match(
      installed.stdout,
      /^Installing @some\/agent 1\.2\.3\nInstalled Some agent 1\.2\.3 in .*main\.js\n/,
    );
    const [record] = (await parley('list', '--json')).stdout
      .split('\n')
      .filter((line) => line.includes('some-agent'))
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      [record.version, record.in_data_folder, record.missing, record.asks],
      ['1.2.3', true, null, null],
    );
    assert.ok(record.found.startsWith(join(dataDir, 'agents/some-agent/1.2.3-')));

    const stays = 'Its profile stays in agents.json; --profile removes it, too.\n';
    assert.deepEqual((await parley('remove', 'some-agent')).stdout, `Removed Some agent. ${stays}`);
    assert.deepEqual(readdirSync(join(dataDir, 'agents')), []);
    const again = await parley('remove', 'some-agent');
    assert.deepEqual(
      [again.status, again.stderr],
      [2, `parley: Some agent is not installed in the data folder. ${stays}`],
    );
    assert.match((await parley('remove', 'qwen', '--profile')).stderr, /has no profile in agents\.json/);
    const forgotten = await parley('remove', 'some-agent', '--profile');
    assert.match(forgotten.stdout, /^Removed Some agent and its profile\. Restart the service/);
    assert.deepEqual(JSON.parse(readFileSync(agentsFile, 'utf8')), { agents: [] });
    assert.match((await parley('remove', 'some-agent')).stderr, /There is no such agent/);
  });

  it('add nothing that is hostile or known, keep what is in agents.json, and say why, 1', async (t) => {
    const { parley, write, agentsFile } = await prepare(t);
    const hostile = { ...manifest, id: '../../x\u001b[2J' };
    const { status, stderr } = await parley(
      'add',
      write('m.json', [hostile, { ...manifest, id: 'builtin' }]),
    );
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^Not added: \.\.\/\.\.\/x␛\[2J: id must match .*\nNot added: builtin: its id is reserved/,
    );
    assert.throws(() => statSync(agentsFile));

    assert.equal((await parley('add', write('m.json', manifest))).status, 0);
    const before = readFileSync(agentsFile, 'utf8');
    assert.equal((await parley('add', write('m.json', { ...manifest, name: 'Other' }))).status, 1);
    assert.equal(readFileSync(agentsFile, 'utf8'), before);
    assert.equal(
      (await parley('add', write('m.json', { ...manifest, name: 'Other' }), '--replace')).status,
      0,
    );
    const { agents } = JSON.parse(readFileSync(agentsFile, 'utf8'));
    assert.deepEqual(
      agents.map(({ name }: { name: string }) => name),
      ['Other'],
    );

    for (const [content, expected] of [
      ['{', /m\.json is not JSON/],
      ['[]', /m\.json has no manifests/],
      [`"${'x'.repeat(1_100_000)}"`, /is larger than 1048576 bytes/],
    ] as const) {
      const refused = await parley('add', write('m.json', content));
      assert.equal(refused.status, 2);
      assert.match(refused.stderr, expected);
    }
  });

  it('install says what failed, 2, and that an unknown agent is unknown', async (t) => {
    const { parley } = await prepare(t);
    const failed = await parley('install', 'qwen');
    assert.equal(failed.status, 2);
    assert.match(failed.stderr, /npm could not install @qwen-code\/qwen-code@[\d.]+:\n.*404/s);
    assert.match(
      (await parley('install', '../x')).stderr,
      /There is no such agent\. Known agents: builtin, opencode/,
    );
    const builtin = await parley('install', 'builtin');
    assert.match(builtin.stderr, /is part of Parley and needs no installation/);
    const latest = await parley('install', 'qwen', '--version', 'latest');
    assert.match(latest.stderr, /--version must be exact, such as [\d.]+: a tag or a range/);
    assert.deepEqual([builtin.stdout, latest.stdout], ['', '']);
    assert.match(
      (await parley('add', '/nonexistent/m.json')).stderr,
      /There is no file \/nonexistent\/m\.json/,
    );
  });
});
