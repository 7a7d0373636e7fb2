// Finds out whether agent-sandbox can be used: whether it is installed, whether this process has the permissions that it
// needs, and whether the warm pool is as it should be.
import type { AgentSandboxChoice } from '../../config.ts';
import {
  extensionsGroup,
  folderOf,
  hasResource,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxGroup,
  sandboxVersion,
} from './agentSandbox.ts';
import { type Api, ClusterError } from './api.ts';
import { createObjects } from './objects.ts';
import { everyVerb, findMissingPermission, type Permission } from './permissions.ts';
import { findDifference } from './podCheck.ts';
import { type PodOptions, warmPodSpec } from './podSpec.ts';

interface ProbeOptions extends PodOptions {
  readonly agentSandbox: AgentSandboxChoice;
  readonly warmPool: string | undefined;
}

export interface AgentSandboxUse {
  readonly agentSandbox: boolean;
  readonly warmPool: string | undefined;
  /** A sentence for the start output, if something is not used that could be. */
  readonly note?: string | undefined;
}

const forbidden = 403;
const sandboxes = `sandboxes.${sandboxGroup}`;
const ownVerbs = ['create', 'get', 'list', 'watch', 'delete'];
const sandboxPermissions = everyVerb(ownVerbs, sandboxes);
const poolPermissions: readonly Permission[] = [
  ...everyVerb(ownVerbs, `sandboxclaims.${extensionsGroup}`),
  ...everyVerb(['get', 'watch'], sandboxes),
];

/** Why the pods of the pool cannot be used now, as a clause. */
async function findPoolFault(api: Api, name: string, options: ProbeOptions): Promise<string | undefined> {
  const folder = (resource: 'sandboxwarmpools' | 'sandboxtemplates') => folderOf(resource, options.namespace);
  const pool = await createObjects<SandboxWarmPool>(api, folder('sandboxwarmpools')).find(name);
  if (pool === undefined) return 'it does not exist';
  const templateName = pool.spec?.sandboxTemplateRef?.name ?? '';
  const templates = createObjects<SandboxTemplate>(api, folder('sandboxtemplates'));
  const template = await templates.find(templateName);
  if (template === undefined) return `its SandboxTemplate ${templateName} does not exist`;
  const { podTemplate } = template.spec ?? {};
  const difference = findDifference(warmPodSpec(options), podTemplate ?? {});
  return difference && `the pods of its SandboxTemplate are not as Parley creates them: ${difference}`;
}

/** Pods of the pool are checked anyway, so that nothing depends on the permission to read it. */
function unlessForbidden(error: unknown): undefined {
  if (!(error instanceof ClusterError) || error.status !== forbidden) throw error;
}

/** Whether Sandboxes are used, or why they are not although they are there. Throws a clause. */
async function chooseSandboxes(api: Api, options: ProbeOptions): Promise<AgentSandboxUse> {
  const { agentSandbox: choice, namespace } = options;
  const without = { agentSandbox: false, warmPool: undefined };
  if (choice === 'off') return without;
  if (!(await hasResource(api, 'sandboxes'))) {
    if (choice === 'auto') return without;
    throw new Error(
      `PARLEY_KUBERNETES_AGENT_SANDBOX is on, but agent-sandbox is not installed in the cluster (${sandboxVersion})`,
    );
  }
  const missing = await findMissingPermission(api, namespace, sandboxPermissions);
  if (missing === undefined) return { ...without, agentSandbox: true };
  if (choice === 'on') throw new Error(missing);
  return { ...without, note: `The cluster has agent-sandbox, which is not used: ${missing}.` };
}

/** Throws an error with a clause if the options cannot be fulfilled in this cluster. */
export async function probeAgentSandbox(api: Api, options: ProbeOptions): Promise<AgentSandboxUse> {
  const { warmPool, namespace } = options;
  const chosen = await chooseSandboxes(api, options);
  if (warmPool === undefined) return chosen;
  if (!(await hasResource(api, 'sandboxclaims')))
    throw new Error(
      'PARLEY_KUBERNETES_WARM_POOL is set, but the extensions of agent-sandbox are not installed in the cluster',
    );
  const missing = await findMissingPermission(api, namespace, poolPermissions);
  if (missing !== undefined) throw new Error(missing);
  const fault = await findPoolFault(api, warmPool, options).catch(unlessForbidden);
  return {
    ...chosen,
    warmPool,
    note: fault ? `The warm pool ${warmPool} is not used yet: ${fault}.` : chosen.note,
  };
}
