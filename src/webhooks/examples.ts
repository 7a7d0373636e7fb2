// Examples for the API reference. They pass the schemas; a test holds them to it.
import type { CreatedWebhook, NewWebhook } from './schema.ts';

export const newWebhookExample: NewWebhook = {
  url: 'https://bot.example.com/parley',
  events: ['conversation.status'],
  description: 'chat bot',
};

export const createdWebhookExample: CreatedWebhook = {
  id: 'wh_019a86f0c3d27a1e8b5c4d3e2f1a0b9c',
  url: 'https://bot.example.com/parley',
  events: ['conversation.status'],
  description: 'chat bot',
  format: 'parley',
  created_at: '2026-01-31T12:00:00.000Z',
  waiting: 0,
  failed: 0,
  secret: 'whsec_…',
};
