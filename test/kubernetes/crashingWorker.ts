// Opens a sandbox in a pod, uses it and closes it, and kills its own process at one step of that:
// `node crashingWorker.ts NAMESPACE STEP`.
import { WebSocket } from 'ws';
import { type Api, createApi } from '../../src/sandbox/kubernetes/api.ts';
import { findCluster } from '../../src/sandbox/kubernetes/cluster.ts';
import { createPodEngine } from '../../src/sandbox/kubernetes/podEngine.ts';
import { mib } from '../../src/validation/schema.ts';
import { agentImage } from '../support/kubernetesImages.ts';
import type { CrashStep } from './crashSteps.ts';

const [namespace = '', step] = process.argv.slice(2);

function reach(reached: CrashStep): void {
  if (reached === step) process.kill(process.pid, 'SIGKILL');
}

const api = createApi(await findCluster());
const watched: Api = {
  ...api,
  // Requests have it already; only the connection to a pod reads it from here.
  get cluster() {
    reach('the pod runs');
    return api.cluster;
  },
  call: async (request) => {
    if (request.method === 'DELETE') reach('it closes');
    const answer = await api.call(request);
    if (request.method === 'POST') reach('the pod is created');
    if (request.method === 'DELETE') reach('the pod is deleted');
    return answer as never;
  },
};

// The first message is the one that the supervisor answers.
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (this: WebSocket, ...args: unknown[]) {
  reach('the worker is attached');
  Reflect.apply(send, this, args);
  if (step === 'the supervisor is greeted') this.once('message', () => reach('the supervisor is greeted'));
};

const engine = createPodEngine({
  api: watched,
  namespace,
  image: agentImage,
  runtimeClass: undefined,
  processId: `crashed-${process.pid}`,
  filesBytesMax: 1_024 * mib,
  volumes: undefined,
  onBackgroundError: (error) => {
    throw error;
  },
});
const spec = {
  name: `crash-${process.pid}`,
  workspace: `/crash/${process.pid}/workspace`,
  home: `/crash/${process.pid}/home`,
  readable: [],
  resourceFactor: 1,
  image: null,
  conversation: { key: process.pid, userId: 1, id: `crash-${process.pid}` },
};
const sandbox = await engine.open({ spec, exclusive: true });
reach('the sandbox is open');
await sandbox.start({ argv: ['sleep', '1000'], env: {} });
reach('a program runs');
await sandbox.close({ keepFiles: true });
reach('its programs are ended');
await sandbox.close();
