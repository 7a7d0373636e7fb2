// Installs the resources of agent-sandbox in the cluster of the tests. Their controller is in test/support.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectDir } from '../../support/program.ts';
import { cluster } from '../setup.ts';

/** They may be installed already. */
export async function installAgentSandbox(): Promise<void> {
  const file = join(projectDir, 'test/kubernetes/agentSandbox/crds.yaml');
  await cluster().kubectl(['apply', '--filename=-'], readFileSync(file, 'utf8'));
  await cluster().kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
}
