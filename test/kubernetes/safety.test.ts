// What is in a pod and what is not, and what a worker may do in the cluster.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertWithout } from '../support/canaries.ts';
import { commit, startGitServer } from '../support/gitServer.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { ending, shell } from '../support/runTalk.ts';
import { temporaryFolder } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { createPods, skip, writeKubeconfig } from './pods.ts';
import { cluster } from './setup.ts';

const minuteMs = 60_000;
const pods = skip === false ? await createPods() : undefined;
const inPods = (more?: Partial<RunsOptions>) => pods?.options(more) ?? {};
const listPods = async () => (await pods?.list()) ?? [];
const kubectl = async (...args: readonly string[]) => (await pods?.kubectl(...args)) ?? '';

const canary = (name: string) => `HEAD-${name}-3b1f0c77d2-TAIL`;
/** Never in the pod. */
const outer = { model: canary('model'), git: canary('git'), session: canary('session') };
/** In the environment of programs, and nowhere else. */
const inner = canary('custom');

async function startWithSecrets(t: TestContext) {
  const host = await startGitServer(t, { credential: `x-access-token:${outer.git}` });
  commit(host.repository('team/app'), 'main', { 'README.md': 'main\n' });
  const env = { SESSION_API_KEY: outer.session, PARLEY_GIT_HOSTS: `github=${host.url}` };
  const settings = { llm_api_key: outer.model, llm_model: 'x/y' };
  const runs = await startRuns(inPods({ env, settings }), t);
  const { ask } = runs.service;
  await ask('/api/add-git-providers', { json: { provider_tokens: { github: { token: outer.git } } } });
  assert.equal((await ask('/api/secrets', { json: { name: 'ONE', value: inner } })).status, 201);
  return runs;
}

describe('the pod of a conversation', { skip }, () => {
  it('has no keys of the model, of Git or of the service, and its log and specification have nothing secret', async (t) => {
    const runs = await startWithSecrets(t);
    const id = await runs.create('hello', { repository: 'team/app' });
    await runs.turns(id, 1);
    assert.equal(await shell(runs, id, 2, 'printenv ONE | wc -c'), `${inner.length + 1}\n`);
    await shell(runs, id, 3, 'git fetch origin; printenv ONE; echo a word of the user');
    const [pod] = await listPods();
    const name = pod?.metadata.name ?? '';
    // Every file that the user of the pod can read, and the environments of all processes.
    const script =
      'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; find /workspace /home /tmp -type f -exec cat {} + 2>/dev/null';
    const inside = await kubectl('exec', name, '--', 'sh', '-c', script);
    assert.ok(inside.includes(inner));
    assertWithout(Object.values(outer), 'pod', inside);
    const [token = ''] = /pr_[\w-]{43}/.exec(inside) ?? [];
    assert.notEqual(token, '');
    const secrets = [...Object.values(outer), 'HEAD-', '-TAIL', token];
    assertWithout(secrets, 'specification', await kubectl('get', 'pod', name, '--output=json'));
    const log = await kubectl('logs', name);
    assert.ok(log.length > 0);
    assertWithout([...secrets, 'a word of the user', 'jsonrpc'], 'log', log);
    assertWithout(secrets, 'events', await kubectl('get', 'events', '--output=json'));
    assertWithout([...Object.values(outer), inner, token], 'log of the service', runs.service.logs());
    // The patterns are read from standard input, so that no process has them in its command line.
    const search = ['grep', '-rlaF', '-f', '-', '/', '--exclude-dir=proc', '--exclude-dir=sys'];
    const searchAll = `${search.join(' ')} 2>/dev/null; echo done`;
    const exec = ['--namespace', pods?.namespace ?? '', 'exec', '--stdin', name, '--', 'sh', '-c', searchAll];
    assert.equal(await cluster().kubectl(exec, `${Object.values(outer).join('\n')}\n`), 'done\n');
    await runs.stop(id);
    await pods?.untilNone();
  });

  it('cannot write to its root, gain rights, or reach the API of the cluster', async (t) => {
    const runs = await startRuns(inPods(), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    assert.equal(await shell(runs, id, 2, 'touch /usr/x /opt/parley/x 2>&1 | grep -c Read-only'), '2\n');
    assert.match(
      await shell(runs, id, 3, 'grep -E "CapEff|NoNewPrivs|^Seccomp:" /proc/self/status'),
      /CapEff:\s+0+\nNoNewPrivs:\s+1\nSeccomp:\s+2\n/,
    );
    assert.equal(await shell(runs, id, 4, 'ls /var/run/secrets 2>&1 | grep -c "No such"'), '1\n');
    assert.equal(await shell(runs, id, 5, 'env | grep -c KUBERNETES_'), '0\n');
    await runs.stop(id);
    await pods?.untilNone();
  });

  it('finds no token of a service account, wherever it looks', async (t) => {
    const runs = await startRuns(inPods(), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    // The cluster has one for the account of the pod.
    const tokens = 'jsonpath={.items[?(@.type=="kubernetes.io/service-account-token")].metadata.name}';
    assert.match(await kubectl('get', 'secrets', `--output=${tokens}`), /default-token/);
    const jwt = 'eyJhbGciOi[A-Za-z0-9_-]{10,}[.]eyJ[A-Za-z0-9_-]{10,}[.]';
    const look = [
      `grep -rlaE '${jwt}' / --exclude-dir=proc --exclude-dir=sys 2>/dev/null`,
      'find / -xdev -name token -o -xdev -name ca.crt -o -xdev -path "*serviceaccount*" 2>/dev/null',
      'grep -hE "secret|token|serviceaccount" /proc/[0-9]*/mountinfo 2>/dev/null',
      `cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -aE "${jwt}"`,
      'echo done',
    ];
    assert.equal(await shell(runs, id, 2, look.join('; ')), 'done\n');
    const [pod] = await listPods();
    const { spec } = pod as unknown as { spec: { volumes: object[]; automountServiceAccountToken: boolean } };
    assert.equal(spec.automountServiceAccountToken, false);
    for (const volume of spec.volumes)
      assert.deepEqual(
        Object.keys(volume).filter((key) => /secret|projected|hostPath|configMap/.test(key)),
        [],
      );
    await runs.stop(id);
    await pods?.untilNone();
  });

  it('runs in gVisor if the operator wants that', {
    skip: skip === false && !cluster().hasGvisor && 'not installed: runsc',
  }, async (t) => {
    const env = { PARLEY_KUBERNETES_RUNTIME_CLASS: 'gvisor' };
    const runs = await startRuns(inPods({ env }), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    assert.match(await shell(runs, id, 2, 'dmesg | head -n 1'), /Starting gVisor/);
    await runs.stop(id);
    await pods?.untilNone();
  });
});

describe('a worker without a right in the cluster', { skip }, () => {
  it('says at the start and for each run which right it lacks', async (t) => {
    const namespace = pods?.namespace ?? '';
    const account = `weak-${randomBytes(3).toString('hex')}`;
    const credentials = await cluster().createAccount(namespace, account);
    await kubectl('create', 'role', account, '--verb=get,list,watch,delete', '--resource=pods');
    await kubectl(
      'create',
      'rolebinding',
      account,
      `--role=${account}`,
      `--serviceaccount=${namespace}:${account}`,
    );
    const kubeconfig = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = writeKubeconfig(temporaryFolder(t), credentials);
    t.after(() => {
      process.env['KUBECONFIG'] = kubeconfig;
    });
    const runs = await startRuns(inPods(), t);
    const { code, message } = await ending(runs, await runs.create('hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(message, new RegExp(`may not create pods in the namespace ${namespace}`));
    assert.ok(runs.service.logs().includes('Agents cannot run yet'));
    assert.deepEqual(await listPods(), []);
  });
});

describe('many conversations in pods', { skip }, () => {
  it('run at once, and leave nothing', async (t) => {
    const runs = await startRuns(inPods({ env: { PARLEY_RUNNING_MAX: '0', PARLEY_SLOTS: '20' } }), t);
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => runs.create(`number ${n}`)));
    for (const [n, id] of ids.entries()) {
      await until('it runs', async () => (await runs.info(id)).status === 'RUNNING', minuteMs);
      assert.deepEqual(await runs.turns(id, 1), [`You said: number ${n}`]);
    }
    assert.equal((await listPods()).length, 20);
    await Promise.all(ids.map(runs.stop));
    await pods?.untilNone();
  });
});
