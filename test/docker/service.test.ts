// The service with the Docker sandbox and a real engine: whole tasks, the images that the operator allows, and what is left
// when the service is killed.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { builtinSettings, listenForModel, startBuiltin } from '../support/builtinRuns.ts';
import { parleyImage } from '../support/dockerImages.ts';
import { createSite, untilListening } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { createRunsClient, filesOf, type RunsOptions } from '../support/runs.ts';
import { ending } from '../support/runTalk.ts';
import { ask } from '../support/service.ts';
import { until } from '../support/until.ts';
import { engine, skip } from './setup.ts';

const otherImage = 'parley-test/other';
const images = `${parleyImage},${otherImage}`;

const inDocker = (more: Partial<RunsOptions> = {}): RunsOptions => ({
  ...more,
  sandbox: 'docker',
  env: { PARLEY_SANDBOX_IMAGES: images, ...more.env },
});

async function runningContainers(format = '{{.ID}}', ...more: readonly string[]): Promise<string[]> {
  const filter = ['--filter', 'label=parley.sandbox'];
  return (await engine().docker('ps', ...filter, ...more, '--format', format)).split('\n').filter(Boolean);
}

describe('a conversation in containers', { skip }, () => {
  it('runs a task of the built-in agent, and its files can be read', async (t) => {
    const runs = await startBuiltin(
      t,
      [{ run: 'echo from a container >made.txt; uname -n >name.txt' }, { say: 'It is made.' }],
      inDocker(),
    );
    const id = await runs.create('Make a file');
    assert.deepEqual(await runs.turns(id, 1), ['It is made.']);
    const read = (name: string) => runs.service.ask(`/api/conversations/${id}/select-file?file=${name}`);
    assert.equal((await read('made.txt')).body.code, 'from a container\n');
    assert.equal((await read('name.txt')).body.code, 'parley\n');
    assert.ok(runs.service.logs().includes('Agents run in docker.'));
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await until('no container is left', async () => (await runningContainers()).length === 0);
  });

  it('runs a task in gVisor, if the operator wants that', {
    skip: skip === false && !engine().hasGvisor && 'runsc is not installed',
  }, async (t) => {
    const runs = await startBuiltin(
      t,
      [{ run: 'dmesg | head -n 1 >kernel.txt' }, { say: 'It is made.' }],
      inDocker({ env: { PARLEY_DOCKER_RUNTIME: 'runsc' } }),
    );
    const id = await runs.create('Which kernel is this?');
    assert.deepEqual(await runs.turns(id, 1), ['It is made.']);
    const { body } = await runs.service.ask(`/api/conversations/${id}/select-file?file=kernel.txt`);
    assert.match(body.code, /Starting gVisor/);
    assert.ok(runs.service.logs().includes('Agents run in docker with the runtime runsc.'));
  });

  it('uses the image of the user if the operator allows it, and no other', async (t) => {
    await engine().docker('tag', parleyImage, otherImage);
    const settings = { sandbox_runtime_container_image: otherImage };
    const runs = await startBuiltin(t, [{ say: 'ready' }], inDocker({ settings }));
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    assert.deepEqual([...new Set(await runningContainers('{{.Image}}'))], [otherImage]);
    await runs.service.ask('/api/settings', {
      json: { sandbox_runtime_container_image: 'evil.example/image' },
    });
    const { code, message } = await ending(runs, await runs.create('hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(message, /not among those that the operator allows/);
  });

  it('says which image the engine cannot get', async (t) => {
    const env = { PARLEY_SANDBOX_IMAGES: 'localhost:1/no-such-image' };
    const runs = await startBuiltin(t, [{ say: 'ready' }], inDocker({ env }));
    const { message } = await ending(runs, await runs.create('hello'));
    assert.match(message, /no-such-image/);
  });

  it('says at the start that the engine does not know the runtime', async (t) => {
    const runs = await startBuiltin(
      t,
      [{ say: 'ready' }],
      inDocker({ env: { PARLEY_DOCKER_RUNTIME: 'no-such-runtime' } }),
    );
    const { code, message } = await ending(runs, await runs.create('hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(message, /no-such-runtime/);
  });
});

/** A user that may use the engine, and is not root. */
const user = 12_345;

async function startAsUser(t: TestContext, script: Parameters<typeof createScriptedModel>[0]) {
  const model = await listenForModel(t, createScriptedModel(script));
  const site = await createSite('sqlite', t);
  const { dataDir } = site.storage;
  const home = site.createDir();
  for (const folder of [dataDir, home]) chownSync(folder, user, user);
  const { host } = engine();
  chmodSync(host.replace('unix://', ''), 0o666);
  chmodSync(join(host.replace('unix://', ''), '..'), 0o755);
  const env = {
    ...site.environment(),
    ...model,
    HOME: home,
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'docker',
    PARLEY_SANDBOX_IMAGES: images,
    DOCKER_HOST: host,
    NODE_COMPILE_CACHE: '',
  };
  const as = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const key = 'a-key-for-this-test';
  const start = async () => {
    const service = site.spawn('setpriv', [...as, process.execPath, mainFile, 'serve'], {
      ...env,
      SESSION_API_KEY: key,
    });
    const url = await untilListening(service);
    return { service, url, ...createRunsClient((path, asked = {}) => ask(url, path, { key, ...asked })) };
  };
  const first = await start();
  await ask(first.url, '/api/settings', { key, json: builtinSettings });
  return { ...first, start, storage: site.storage };
}

describe('a service that is not root and uses containers', { skip }, () => {
  it('owns the files that its agents create', async (t) => {
    const { create, turns, storage } = await startAsUser(t, [
      { run: 'id -u >user.txt; mkdir -p a/b; touch a/b/c' },
      { say: 'done' },
    ]);
    const id = await create('Make files');
    await turns(id, 1);
    const { root } = await filesOf(storage, id);
    const workspace = join(root, 'workspace');
    for (const name of ['.', ...readdirSync(workspace, { recursive: true, encoding: 'utf8' })])
      assert.equal(statSync(join(workspace, name)).uid, user, name);
  });

  it('leaves a container behind when it is killed, which its next start ends', async (t) => {
    const { service, start, storage } = await startAsUser(t, []);
    // This agent does not notice that nobody listens any more.
    const programs = [{ command: 'sleep', args: ['1000'], env: {} }];
    const agent = { id: 'stubborn', name: 'Stubborn', protocol: 'openai-chat', asks: 'all', programs };
    writeFileSync(join(storage.dataDir, 'agents.json'), JSON.stringify({ agents: [agent] }));
    service.send('SIGTERM');
    await service.ended();
    const second = await start();
    await second.create('hello', { agent: 'stubborn' });
    const agents = async () => {
      const lines = await runningContainers('{{.ID}} {{.Command}}', '--no-trunc');
      return lines.filter((line) => line.includes('sleep')).map((line) => line.split(' ')[0]);
    };
    const [left] = await until('the agent runs', async () => {
      const found = await agents();
      return found.length > 0 && found;
    });
    second.service.send('SIGKILL');
    await second.service.ended();
    assert.deepEqual(await agents(), [left]);
    await start();
    await until('it is gone', async () => !(await agents()).includes(left));
  });
});
