// What a profile puts into the home of an agent, and agents that are installed in the data folder, in real sandboxes.
import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage, type TestStorage } from '../../test/support/databases.ts';
import { fakeAgentPath, filesOf, startRuns } from '../../test/support/runs.ts';
import { shell } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';

const helper = '#!/usr/bin/env node\nconsole.log("helped", process.version, ...process.argv.slice(2));\n';

const profile = {
  id: 'fake',
  name: 'Fake',
  protocol: 'openai-chat',
  asks: 'all',
  packages: [{ name: 'installed-agent', version: '1.0.0' }],
  programs: [
    {
      package: 'installed-agent',
      args: [],
      env: {},
      files: { '.fake/model.json': { model: '{model}', base: '{base}', token: '{token}' } },
      needs: [{ command: 'fake-helper' }],
    },
  ],
};

/** The fake agent and a helper, as `agents install` leaves them. */
function installFake(dataDir: string): void {
  const folder = join(dataDir, 'agents/fake/1.0.0-ab');
  const code = join(folder, 'lib/node_modules/installed-agent');
  mkdirSync(code, { recursive: true });
  mkdirSync(join(folder, 'bin'));
  const bin = { agent: 'agent.mjs', 'fake-helper': 'helper.mjs' };
  const manifest = {
    name: 'installed-agent',
    version: '1.0.0',
    bin: { 'installed-agent': bin.agent, ...bin },
  };
  writeFileSync(join(code, 'package.json'), JSON.stringify(manifest));
  copyFileSync(join(fakeAgentPath(), 'parley-fake-agent'), join(code, bin.agent));
  writeFileSync(join(code, bin['fake-helper']), helper);
  chmodSync(join(code, bin['fake-helper']), 0o755);
  symlinkSync('../lib/node_modules/installed-agent/helper.mjs', join(folder, 'bin/fake-helper'));
  const record = { folder: '1.0.0-ab', packages: [], installed_at: new Date().toISOString() };
  writeFileSync(join(dataDir, 'agents/fake/installed.json'), JSON.stringify(record));
  writeFileSync(join(dataDir, 'agents.json'), JSON.stringify({ agents: [profile] }));
}

async function prepareStorage(t: TestContext): Promise<TestStorage> {
  const storage = await createStorage('sqlite');
  t.after(() => storage.remove());
  installFake(storage.dataDir);
  return storage;
}

describe('an agent that is installed in the data folder', () => {
  for (const sandbox of ['process', 'bubblewrap'] as const)
    it(`starts in ${sandbox} with its files and its helper`, {
      skip: sandbox === 'bubblewrap' && noBubblewrap,
    }, async (t) => {
      const storage = await prepareStorage(t);
      const settings = { llm_model: 'openai/gpt-4.1' };
      const runs = await startRuns({ storage, sandbox, settings }, t);
      const id = await runs.create('say ready');
      await runs.turns(id, 1);
      assert.equal(await shell(runs, id, 2, 'fake-helper "a b" c'), `helped ${process.version} a b c\n`);

      const { home } = await filesOf(storage, id);
      const file = join(home, '.fake/model.json');
      const first = JSON.parse(readFileSync(file, 'utf8'));
      assert.equal(first.model, 'gpt-4.1');
      assert.match(first.base, /^http:\/\/127\.0\.0\.1:\d+\/model\/openai\/v1$/);
      assert.ok(first.token.length > 20);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(join(home, '.parley/bin/fake-helper')).mode & 0o777, 0o700);

      // The token of a run is masked, and the next run has another one, even if the agent has replaced the file.
      const stolen = await shell(runs, id, 3, 'cat ~/.fake/model.json; rm -rf ~/.fake; ln -s /usr ~/.fake');
      assert.ok(stolen.includes('gpt-4.1') && !stolen.includes(first.token), stolen);
      await runs.stop(id);
      await runs.reaches(id, 'STOPPED');
      await runs.say(id, 'say again');
      await runs.turns(id, 4);
      const second = JSON.parse(readFileSync(file, 'utf8'));
      assert.notEqual(second.token, first.token);
    });

  it('is missing after it was removed, and the message says how to install it', async (t) => {
    const storage = await prepareStorage(t);
    const runs = await startRuns({ storage }, t);
    rmSync(join(storage.dataDir, 'agents/fake/installed.json'));
    const id = await runs.create('say hello');
    await runs.reaches(id, 'STOPPED');
    const { stop_reason: reason } = await runs.info(id);
    assert.equal(reason?.code, 'agent_missing');
    assert.match(
      reason?.message ?? '',
      /is not installed on this machine\. Install it with: parley agents install fake/,
    );
  });
});
