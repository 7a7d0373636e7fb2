// The cluster of the tests itself: pods run, parts that die come back, and nothing is left when its user is killed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { createKubernetesApi, type KubernetesObject } from '../support/kubernetesApi.ts';
import { projectDir } from '../support/program.ts';
import { until } from '../support/until.ts';
import { cluster, skip } from './setup.ts';

const minuteMs = 60_000;
const busybox = 'localhost/pause:1';

/** Creates a pod of the busybox image, which goes with the test. */
async function startPod(t: TestContext, script: string, more: object = {}): Promise<string> {
  const name = `pod-${randomBytes(3).toString('hex')}`;
  const pods = '/api/v1/namespaces/default/pods';
  await cluster().api.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'main',
          image: busybox,
          imagePullPolicy: 'Never',
          command: ['/bin/busybox', 'sh', '-c', script],
        },
      ],
      ...more,
    },
  });
  t.after(() => cluster().api.remove(`${pods}/${name}`, { gracePeriodSeconds: 0 }));
  return name;
}

async function untilEnded(name: string): Promise<string> {
  await until(
    `${name} has ended`,
    async () => {
      const path = `/api/v1/namespaces/default/pods/${name}`;
      const pod: KubernetesObject<{ phase: string }> | undefined = await cluster().api.find(path);
      return ['Succeeded', 'Failed'].includes(pod?.status?.phase ?? '');
    },
    minuteMs,
  );
  return cluster().kubectl(['logs', name]);
}

describe('the cluster', { skip }, () => {
  it('runs a pod, which gets no token of a service account unless it asks for one', async (t) => {
    const name = await startPod(t, 'echo hello; ls /var/run/secrets/kubernetes.io 2>&1');
    assert.match(await untilEnded(name), /^hello\nls: .*No such file/);
  });

  it('runs a pod in gVisor', {
    skip: skip === false && !cluster().hasGvisor && 'not installed: runsc',
  }, async (t) => {
    const name = await startPod(t, '/bin/busybox dmesg', { runtimeClassName: 'gvisor' });
    assert.match(await untilEnded(name), /Starting gVisor/);
  });

  it('creates service accounts without rights', async () => {
    const credentials = await cluster().createAccount('default', `nobody-${randomBytes(3).toString('hex')}`);
    const api = createKubernetesApi(credentials);
    await assert.rejects(api.list('/api/v1/namespaces/default/pods'), { status: 403 });
    await api.close();
  });

  it('starts its API server again after it was killed', async () => {
    cluster().killPart('kube-apiserver');
    const version = () =>
      cluster()
        .api.find('/version')
        .catch(() => undefined);
    await until('it is gone', async () => (await version()) === undefined);
    await until('it is back', async () => (await version()) !== undefined, minuteMs);
  });

  it('leaves nothing behind when the process that uses it is killed', async () => {
    const support = join(projectDir, 'test/support/kubernetesCluster.ts');
    const script = `const { startKubernetesCluster } = await import(${JSON.stringify(support)});
      const { folder, kubeconfig } = await startKubernetesCluster();
      console.log(JSON.stringify({ folder, kubeconfig }));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface(child.stdout), 'line');
    const { folder, kubeconfig } = JSON.parse(line);
    assert.notEqual(folder, cluster().folder);
    assert.equal(
      spawnSync('kubectl', ['get', 'nodes'], { env: { ...process.env, KUBECONFIG: kubeconfig } }).status,
      0,
    );
    child.kill('SIGKILL');
    await until('its folder is gone', () => !existsSync(folder), minuteMs);
    assert.deepEqual(spawnSync('pgrep', ['--full', folder], { encoding: 'utf8' }).stdout, '');
  });
});
