// Services as processes that run conversations with the fake agent, and give each other up soon.
import { delimiter } from 'node:path';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { createSite, type Service, type Site } from './process.ts';
import { quickMainFile } from './program.ts';
import { createRunsClient, fakeAgentPath, type Runs, writeAgents } from './runs.ts';

export interface WorkerService extends Service, Omit<Runs, 'service'> {
  /** Changes settings of the owner. */
  set(settings: Record<string, unknown>): Promise<void>;
}

export interface WorkerSite {
  readonly site: Site;
  serve(env?: Record<string, string>): Promise<WorkerService>;
}

export async function createWorkerSite(
  kind: DatabaseKind,
  t: { after(fn: () => Promise<void>): void },
  main = quickMainFile,
): Promise<WorkerSite> {
  const site = await createSite(kind, t, { main });
  writeAgents(site.storage.dataDir);
  const PATH = `${fakeAgentPath()}${delimiter}${process.env['PATH']}`;
  return {
    site,
    serve: async (env = {}) => {
      const service = await site.serve({
        env: { PATH, PARLEY_ROLE: 'all', PARLEY_SANDBOX: 'process', ...env },
      });
      return {
        ...service,
        ...createRunsClient(service.ask),
        set: async (settings) => {
          const { status, text } = await service.ask('/api/settings', { json: settings });
          if (status !== 200) throw new Error(text);
        },
      };
    },
  };
}
