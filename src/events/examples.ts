// Examples of events for the API docs.
import type { Change } from './changes/schema.ts';

export const eventsExample = {
  events: [
    {
      id: 0,
      timestamp: '2026-01-31T12:00:00.000Z',
      source: 'user',
      message: 'Fix the failing test.',
      action: 'message',
      args: { content: 'Fix the failing test.', image_urls: [], file_urls: [], wait_for_response: false },
    },
    {
      id: 1,
      timestamp: '2026-01-31T12:00:00.000Z',
      source: 'environment',
      message: '',
      observation: 'agent_state_changed',
      content: '',
      extras: { agent_state: 'loading', reason: '' },
    },
  ],
  has_more: false,
};

export const changeExample: Change = {
  conversation_id: '01990f3c5a7b7c1e9d2f4b6a8c0e1f23',
  status: 'STOPPED',
  agent_state: null,
  title: 'Fix the failing test.',
  stop_reason: { code: 'user', message: 'You stopped the conversation.' },
  at: '2026-01-31T12:05:00.000Z',
};
