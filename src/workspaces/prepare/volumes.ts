// The volumes of conversations in a cluster, for the retention of workspaces. Every worker handles all of them.
import type { SandboxVolumes } from '../../sandbox/sandbox.ts';
import type { KeptWorkspaces } from './retention.ts';

/** `find` returns undefined while the cluster cannot be used. */
export function volumesAsWorkspaces(find: () => Promise<SandboxVolumes | undefined>): KeptWorkspaces {
  return {
    list: async () => [...((await (await find())?.list()) ?? [])],
    isLocal: async () => false,
    // The cluster deletes a volume when no pod uses it. The next run then waits for that and gets a new one.
    setAside: async (key) => (await (await find())?.remove(key)) ?? false,
    listSetAside: async () => [],
    removeSetAside: async () => {},
    mayRemoveLate: true,
  };
}
