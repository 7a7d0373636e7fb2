// The image, built from the package and used as docs/deploy.md says: not root, a read-only file system, a health check,
// and agents in bubblewrap.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import { createScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { mib } from '../../src/validation/schema.ts';
import { builtinSettings, listenForModel } from '../support/builtinRuns.ts';
import { baseImage, parleyImage } from '../support/dockerImages.ts';
import { createRunsClient } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { confinement, sandboxOptions, startContainer } from './containers.ts';
import { engine, skip } from './setup.ts';

/** In addition to the base image: Node, Parley, Git with Perl, curl and bubblewrap. */
const addedBytesMax = 260 * mib;

async function startWithModel(t: TestContext, script: readonly Step[]) {
  const env = await listenForModel(t, createScriptedModel(script));
  const container = await startContainer(t, [...confinement, ...sandboxOptions], env);
  await container.ready();
  assert.equal((await container.ask('/api/settings', { json: builtinSettings })).status, 200);
  return { ...container, ...createRunsClient(container.ask) };
}

describe('the image', { skip }, () => {
  it('is small', async () => {
    const sizeOf = async (image: string) =>
      Number(await engine().docker('image', 'inspect', '--format', '{{.Size}}', image));
    const bytes = (await sizeOf(parleyImage)) - (await sizeOf(baseImage));
    assert.ok(bytes < addedBytesMax, `${Math.ceil(bytes / mib)} MiB`);
  });

  it('serves the web UI, is healthy, and can write nothing but its data and temporary files', async (t) => {
    const { name, url, exec, ready } = await startContainer(t, [...confinement, ...sandboxOptions]);
    await ready();
    assert.match(await (await fetch(url)).text(), /<div id="page">/);
    assert.equal(await exec('id', '-u'), '1000\n');
    const folders = '/ /usr /usr/local/lib /etc /opt /home /var /data /tmp';
    const script = `for folder in ${folders}; do touch $folder/x 2>/dev/null && echo $folder; done; true`;
    assert.equal(await exec('sh', '-c', script), '/data\n/tmp\n');
    const { docker } = engine();
    await until(
      'it is healthy',
      async () =>
        (await docker('inspect', '--format', '{{.State.Health.Status}}', name)).trim() === 'healthy',
      30_000,
    );
  });

  it('runs a task in bubblewrap, which sees neither the service nor its data', async (t) => {
    const look = 'ls -A /data; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" | grep PARLEY_DATA; id -u';
    const { create, turns, ask } = await startWithModel(t, [
      { run: `echo from the image >made.txt; { ${look}; } >look.txt 2>&1` },
      { say: 'It is made.' },
    ]);
    const { body: info } = await ask('/server_info');
    assert.deepEqual([info.sandbox, info.seccomp, info.limits.processes], ['bubblewrap', true, true]);
    const id = await create('Make a file');
    assert.deepEqual(await turns(id, 1), ['It is made.']);
    const file = async (name: string) =>
      (await ask(`/api/conversations/${id}/select-file?file=${name}`)).body.code;
    assert.equal(await file('made.txt'), 'from the image\n');
    assert.match(await file('look.txt'), /^ls: cannot access '\/data': No such file or directory\n1000\n$/);
  });

  it('ends with code 0 when it is stopped, and goes on with its data', async (t) => {
    const { docker } = engine();
    const { name, ready } = await startContainer(t, confinement);
    const key = await ready();
    await docker('stop', '--time', '60', name);
    assert.equal((await docker('inspect', '--format', '{{.State.ExitCode}}', name)).trim(), '0');
    await docker('start', name);
    assert.equal(await ready(), key);
  });

  it('refuses to run agents under the default profile of the engine, and says what is missing', async (t) => {
    const { ready, ask } = await startContainer(t, confinement);
    await ready();
    const { create, reaches } = createRunsClient(ask);
    const { stop_reason: reason } = await reaches(await create('hello'), 'STOPPED');
    assert.equal(reason?.code, 'no_sandbox');
    assert.match(reason?.message ?? '', /bubblewrap does not work here .*namespace/);
  });
});
