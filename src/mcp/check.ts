// Tests MCP servers before an agent needs them, and reports for each whether it works and which tools it has.
import { AppError, invalid } from '../errors.ts';
import type { OutgoingFetch } from '../outgoing/fetch.ts';
import { kib } from '../validation/schema.ts';
import { checkRemote, type Outcome, type Transport } from './checkRemote.ts';
import type { CheckedServer, CheckMcp } from './checkSchema.ts';
import { shownUrl } from './remotes.ts';
import { type McpConfig, normaliseMcp, type RemoteServer } from './schema.ts';
import { noMcp, restoreMasks, splitMcp } from './secrets.ts';

/** For one server. */
export const checkTimeoutMs = 10_000;
export const checkResponseBytesMax = 4 * kib * kib;
const serversAtOnceMax = 8;
/** For all users together. */
const checksAtOnceMax = 4;

interface McpCheckOptions {
  readonly settings: { openMcp(userId: number): Promise<McpConfig> };
  readonly fetch: OutgoingFetch;
  readonly timeoutMs?: number;
}

export type McpCheck = ReturnType<typeof createMcpCheck>;

const transports = { sse_servers: 'sse', shttp_servers: 'http' } as const;

async function inParallel<In, Out>(
  inputs: readonly In[],
  atOnceMax: number,
  work: (input: In) => Promise<Out>,
): Promise<Out[]> {
  const outputs: Out[] = [];
  const waiting = inputs.entries();
  const worker = async () => {
    for (const [i, input] of waiting) outputs[i] = await work(input);
  };
  await Promise.all(Array.from({ length: atOnceMax }, worker));
  return outputs;
}

export function createMcpCheck({ settings, fetch, timeoutMs = checkTimeoutMs }: McpCheckOptions) {
  /** The sent configuration with masks replaced by stored secrets, or the stored one. Throws 422. */
  async function chosenConfig(userId: number, sent: CheckMcp['mcp_config']): Promise<McpConfig> {
    const opened = await settings.openMcp(userId);
    if (sent == null) return opened;
    const { masked, secrets = noMcp.secrets } = splitMcp(opened);
    const { config, faults } = restoreMasks(normaliseMcp(sent), { masked, secrets });
    if (faults.length > 0) throw invalid(faults);
    return config;
  }

  async function tryRemote(server: RemoteServer, transport: Transport) {
    if (!/^https?:/i.test(server.url))
      return {
        status: 'not_checked' as const,
        reason: 'It is a WebSocket server; only http and https servers can be checked.',
      };
    const ownMs = server.timeout === undefined ? timeoutMs : server.timeout * 1_000;
    return checkRemote({ server, transport, fetch, timeoutMs: Math.min(timeoutMs, ownMs) });
  }

  type Place = Pick<CheckedServer, 'list' | 'index' | 'name'>;
  type Task = Place & { run(): Promise<Outcome | Pick<CheckedServer, 'status' | 'reason'>> };

  function remoteTasks(config: McpConfig, list: keyof typeof transports): Task[] {
    return config[list].map((server, index) => ({
      list,
      index,
      name: shownUrl(server.url),
      run: () => tryRemote(server, transports[list]),
    }));
  }

  function stdioTasks(config: McpConfig): Task[] {
    return config.stdio_servers.map(({ name }, index) => ({
      list: 'stdio_servers',
      index,
      name,
      run: async () => ({
        status: 'not_checked',
        reason: 'It runs inside a sandbox, and there is none yet.',
      }),
    }));
  }

  /** Tests every server of the sent configuration, or of the stored one, in the order of the lists. */
  async function check(userId: number, { mcp_config }: CheckMcp): Promise<CheckedServer[]> {
    const config = await chosenConfig(userId, mcp_config);
    const tasks = [
      ...remoteTasks(config, 'sse_servers'),
      ...stdioTasks(config),
      ...remoteTasks(config, 'shttp_servers'),
    ];
    return inParallel(tasks, serversAtOnceMax, async ({ run, ...place }) => ({ ...place, ...(await run()) }));
  }

  let underWay = 0;
  return async (userId: number, sent: CheckMcp): Promise<CheckedServer[]> => {
    if (underWay >= checksAtOnceMax)
      throw new AppError('overloaded', 'Too many checks are in progress; try again.', { retryAfterS: 5 });
    underWay += 1;
    try {
      return await check(userId, sent);
    } finally {
      underWay -= 1;
    }
  };
}
