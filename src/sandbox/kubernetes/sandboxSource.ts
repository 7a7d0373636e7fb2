// Pods that the controller of agent-sandbox creates, each for a Sandbox with the specification that Parley uses itself.
import { folderOf, type Sandbox, sandboxVersion } from './agentSandbox.ts';
import type { Api } from './api.ts';
import { createObjects } from './objects.ts';
import type { PodSource, PodSourceOptions } from './podSource.ts';
import { podOf } from './podSpec.ts';
import { beginStart, findEnd, untilPodRuns } from './podStart.ts';

export interface AgentSandboxOptions extends PodSourceOptions {
  readonly api: Api;
}

export function createSandboxes(options: AgentSandboxOptions): PodSource {
  const { api, namespace, pods, onBackgroundError } = options;
  const sandboxes = createObjects<Sandbox>(api, folderOf('sandboxes', namespace));

  /** The Sandbox first: its controller creates a pod again that is deleted alone. */
  async function remove(name: string): Promise<void> {
    await sandboxes.remove(name);
    await pods.remove(name);
  }

  return {
    acquire: async (name, spec, claim) => {
      const start = beginStart();
      try {
        const { metadata, spec: podSpec } = podOf(name, spec, options, claim);
        await sandboxes.create({
          apiVersion: sandboxVersion,
          kind: 'Sandbox',
          metadata,
          spec: { podTemplate: { metadata: { labels: metadata.labels }, spec: podSpec }, service: false },
        });
        const pod = await untilPodRuns({ sandboxes, pods, name, start });
        return {
          podName: pod.metadata.name,
          uid: pod.metadata.uid,
          remove: () => remove(name),
          findEnd: () => findEnd(sandboxes, name),
        };
      } catch (error) {
        await remove(name).catch(onBackgroundError);
        throw start.explain(error);
      } finally {
        start.end();
      }
    },
    list: async (labels) => {
      const found = await sandboxes.list(labels);
      return found.map(({ metadata }) => ({
        name: metadata.name,
        metadata,
        remove: () => remove(metadata.name),
      }));
    },
  };
}
