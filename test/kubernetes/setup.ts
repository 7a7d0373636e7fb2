// The cluster that all tests of this folder share. They run in one process.
import { after } from 'node:test';
import {
  findMissingCluster,
  type KubernetesCluster,
  startKubernetesCluster,
} from '../support/kubernetesCluster.ts';

const missing = findMissingCluster();
const started = missing === false ? await startKubernetesCluster() : undefined;
after(() => started?.stop());

/** The reason to skip all tests with a cluster, or false. */
export const skip = missing;

/** Throws if the tests must be skipped. */
export function cluster(): KubernetesCluster {
  if (started === undefined) throw new Error(String(missing));
  return started;
}
