// Conversations in pods of the cluster that all tests of this folder share.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/sandbox/kubernetes/podStatus.ts';
import type { Credentials } from '../support/kubernetesApi.ts';
import { agentImage, findMissingImages, importAgentImage } from '../support/kubernetesImages.ts';
import { fakeAgentPath, type RunsOptions } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { cluster, skip as noCluster } from './setup.ts';

const goneMs = 30_000;
const agent = 'usr/local/bin/parley-fake-agent';

/** The reason to skip tests with conversations in pods, or false. */
export const skip = noCluster || (await findMissingImages());

let isReady: Promise<void> | undefined;

/** Imports the image of agents once, with the scripted agent in it. */
function importOnce(): Promise<void> {
  isReady ??= importAgentImage(cluster(), { files: { [agent]: join(fakeAgentPath(), 'parley-fake-agent') } });
  return isReady;
}

export interface TestPods {
  readonly namespace: string;
  /** Options of a service with a pod for each conversation. */
  options(more?: Partial<RunsOptions>): RunsOptions;
  kubectl(...args: readonly string[]): Promise<string>;
  /** Creates the namespace again, after it was deleted. */
  createNamespace(): Promise<void>;
  list(): Promise<readonly Pod[]>;
  /** Waits until nothing is left in the namespace. */
  untilNone(): Promise<void>;
}

/** A namespace of its own. */
export async function createPods(): Promise<TestPods> {
  await importOnce();
  const namespace = `agents-${randomBytes(3).toString('hex')}`;
  process.env['KUBECONFIG'] = cluster().kubeconfig;
  const kubectl = (...args: readonly string[]) => cluster().kubectl(['--namespace', namespace, ...args]);
  const list = async () => JSON.parse(await kubectl('get', 'pods', '--output=json')).items as Pod[];
  const createNamespace = async () => {
    await cluster().createNamespace(namespace);
    // Pods of a service account that does not exist yet are refused.
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await until('there is a service account', async () => (await cluster().api.list(accounts)).length > 0);
  };
  await createNamespace();
  return {
    namespace,
    createNamespace,
    options: (more = {}) => ({
      ...more,
      sandbox: 'kubernetes',
      env: {
        PARLEY_KUBERNETES_IMAGE: agentImage,
        PARLEY_KUBERNETES_NAMESPACE: namespace,
        // Other tests install it, but its controller runs only in their namespaces.
        PARLEY_KUBERNETES_AGENT_SANDBOX: 'off',
        ...more.env,
      },
    }),
    kubectl,
    list,
    untilNone: async () => {
      await until('no pod is left', async () => (await list()).length === 0, goneMs);
    },
  };
}

/** Writes a kubeconfig for a service account, in JSON, which is YAML, too. */
export function writeKubeconfig(folder: string, { server, ca, token }: Credentials): string {
  const file = join(folder, 'kubeconfig');
  const named = { name: 'test' };
  const authority = Buffer.from(ca).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ ...named, context: { cluster: 'test', user: 'test' } }],
    clusters: [{ ...named, cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ ...named, user: { token } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
