// The tests that every sandbox passes, in pods, and in pods with gVisor where that is installed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeSandbox } from '../support/everySandbox.ts';
import { testHostileAgent } from '../support/hostileAgent.ts';
import { openTestSandbox, runShell } from '../support/sandboxes.ts';
import { createTestEngine } from './podEngine.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const node = '/usr/local/bin/node';
const pods = skip === false ? await createPods() : undefined;
const namespace = pods?.namespace ?? '';
const noGvisor = skip === false && !cluster().hasGvisor && 'not installed: runsc';
/** The kubelet of the tests limits every pod to this. */
const processesMax = 512;

const runtimes = [
  { name: 'a pod', runtimeClass: undefined, missing: skip },
  { name: 'a pod in gVisor', runtimeClass: 'gvisor', missing: skip || noGvisor },
];

for (const { name, runtimeClass, missing } of runtimes) {
  const created = missing === false ? await createTestEngine({ namespace, runtimeClass }) : undefined;
  const engine = () => {
    if (created === undefined) throw new Error(String(missing));
    return created;
  };
  const isGvisor = runtimeClass !== undefined;

  describeSandbox({
    kind: `kubernetes (${name})`,
    engine,
    skip: isGvisor ? 'the processes in gVisor cannot be seen from outside' : missing,
    node,
    ownVariable: 'PARLEY_PROGRAM',
    exceptions: {
      oomScore: 'the kubelet decides which pod is killed first',
      addressSpace: 'the cluster limits memory',
      pids: 'the processes are on another machine',
    },
  });

  describe(`a hostile agent in ${name}`, { skip: missing }, () => {
    testHostileAgent({
      engine,
      node,
      userId: 1_000,
      // containerd does not tell runsc the name of the pod.
      hostName: isGvisor ? '' : 'parley',
      hostFiles: ['/var/run/secrets', '/run/containerd/containerd.sock', '/var/lib/kubelet'],
      visibleProcessesMax: 9,
      protectedFolders: ['/dev'],
      processes: isGvisor
        ? 'the kubelet counts the threads of gVisor'
        : { resourceFactor: 1, max: processesMax },
      hasNetwork: 'the network plugin of the test cluster enforces no NetworkPolicy',
    });

    it('can get no rights', { skip: isGvisor && 'gVisor shows no such field' }, async (t) => {
      const { open } = await openTestSandbox(t, engine());
      const { stdout } = await runShell(
        open,
        'grep -E "^NoNewPrivs" /proc/self/status; unshare -Ur true 2>/dev/null && echo namespace; echo done',
      );
      assert.equal(stdout, 'NoNewPrivs:\t1\ndone\n');
    });
  });
}

describe('all pods of these tests', { skip }, () => {
  it('are gone', async () => pods?.untilNone());
});
