// Creates the conversation of a new session. If the service does not accept how it should start with the folder of the
// client, the next way is tried.
import type { McpServer } from '@agentclientprotocol/sdk';
import { type Parley, ParleyError } from '../client/parley.ts';
import type { ClientFolders, Folder } from './clientFolders.ts';
import { toMcpConfig } from './mcpServers.ts';

interface NewConversationOptions {
  readonly parley: Parley;
  readonly folders: ClientFolders | undefined;
  readonly cwd: string;
  readonly servers: readonly McpServer[];
}

interface NewConversation {
  readonly id: string;
  /** What its workspace starts with, in sentences for the user. */
  readonly notes: readonly string[];
}

function refusesFolder(error: unknown): error is ParleyError {
  const fields = ['local_folder', 'repository'];
  return error instanceof ParleyError && error.details.some(({ path }) => fields.includes(path));
}

export async function createConversation(options: NewConversationOptions): Promise<NewConversation> {
  const { parley, folders, cwd, servers } = options;
  const mcp = toMcpConfig(servers);

  async function createWith({ creation, notes, otherwise }: Folder): Promise<NewConversation> {
    const fields = { ...creation, ...(mcp === undefined ? {} : { mcp_config: mcp }) };
    try {
      const { conversation_id: id } = await parley.conversations.create(fields);
      return { id, notes: notes?.(id) ?? [] };
    } catch (error) {
      if (otherwise === undefined || !refusesFolder(error)) throw error;
      return createWith(await otherwise(error.message));
    }
  }

  return createWith((await folders?.open(cwd)) ?? { creation: { client_folder: cwd } });
}
