// An example of a conversation, for the reference.
import { usageExample } from '../usage/examples.ts';
import type { ConversationInfo } from './schema.ts';

export const infoExample: ConversationInfo = {
  conversation_id: '01990f3c5a7b7c1e9d2f4b6a8c0e1f23',
  title: 'Fix the failing test.',
  last_updated_at: '2026-01-31T12:05:00.000Z',
  status: 'STOPPED',
  agent_state: null,
  runtime_status: 'STATUS$STOPPED',
  start_progress: null,
  selected_repository: 'acme/shop',
  selected_branch: 'main',
  git_provider: 'github',
  trigger: 'gui',
  num_connections: 0,
  url: 'http://127.0.0.1:3000/api/conversations/01990f3c5a7b7c1e9d2f4b6a8c0e1f23',
  session_api_key: 'pc_868aa1c134552067_01990f3c5a7b7c1e9d2f4b6a8c0e1f23_…',
  created_at: '2026-01-31T12:00:00.000Z',
  pr_number: [],
  stop_reason: { code: 'user', message: 'You stopped the conversation.' },
  usage: usageExample,
  agent: 'builtin',
  llm_model: null,
  confirmation_mode: null,
  client_folder: null,
  pinned: false,
  archived: false,
  unread: true,
  last_event_id: 17,
  seen_event_id: 12,
  forked_from: null,
};
