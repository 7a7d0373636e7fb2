// Examples for the API reference. They pass the schemas; a test holds them to it.
import type { ConversationResponse, CreateConversation } from './schema.ts';

const message: CreateConversation = {
  initial_user_msg: 'Add a health check to the server, with a test.',
  repository: 'acme/shop',
  git_provider: 'github',
  selected_branch: 'main',
};

const suggestedTask: CreateConversation = {
  suggested_task: {
    git_provider: 'gitlab',
    task_type: 'MERGE_CONFLICTS',
    repo: 'acme/shop',
    issue_number: 42,
    title: 'Move checkout to the new API',
  },
};

const mcpServers: CreateConversation = {
  conversation_id: 'nightly-2026-01-31',
  initial_user_msg: 'Summarise the errors of last night.',
  mcp_config: {
    sse_servers: ['https://tools.example.com/sse'],
    stdio_servers: [
      { name: 'logs', command: 'npx', args: '-y logs-server --read-only', env: { REGION: 'eu' } },
    ],
    shttp_servers: [{ url: 'https://search.example.com/mcp', api_key: 'a-key', timeout: 30 }],
  },
};

export const createExamples = { message, suggested_task: suggestedTask, mcp_servers: mcpServers };

export const createdExample: ConversationResponse = {
  status: 'ok',
  conversation_id: '01990f3c5a7b7c1e9d2f4b6a8c0e1f23',
  message: null,
  conversation_status: 'STARTING',
};
