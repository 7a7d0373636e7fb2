// The engine of pods alone, without a service.
import { createApi } from '../../src/sandbox/kubernetes/api.ts';
import { findCluster } from '../../src/sandbox/kubernetes/cluster.ts';
import { createPodEngine } from '../../src/sandbox/kubernetes/podEngine.ts';
import { mib } from '../../src/validation/schema.ts';
import { agentImage } from '../support/kubernetesImages.ts';
import { cluster } from './setup.ts';

interface TestEngineOptions {
  readonly namespace: string;
  readonly runtimeClass?: string | undefined;
  readonly processId?: string;
}

/** Errors in the background fail the test run. */
export async function createTestEngine({ namespace, runtimeClass, processId = 'tests' }: TestEngineOptions) {
  const api = createApi(await findCluster({ ...process.env, KUBECONFIG: cluster().kubeconfig }));
  return createPodEngine({
    api,
    namespace,
    image: agentImage,
    runtimeClass,
    processId,
    filesBytesMax: 1_024 * mib,
    volumes: undefined,
    onBackgroundError: (error) => {
      throw error;
    },
  });
}
