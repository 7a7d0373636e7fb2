// A minimal conversation for store tests.
import type { NewConversation } from '../../src/conversations/create/newConversation.ts';

export const someTime = '2026-01-31T12:00:00.000Z';

export function newConversation(
  userId: number,
  id: string,
  more: Partial<NewConversation> = {},
): NewConversation {
  return {
    userId,
    id,
    fingerprint: 'f',
    title: id,
    trigger: 'gui',
    repository: null,
    branch: null,
    gitProvider: null,
    agent: null,
    llmModel: null,
    confirmationMode: null,
    clientFolder: null,
    patch: null,
    request: '{}',
    sealed: null,
    events: ['{"source":"environment"}'],
    replayed: 0,
    said: 0,
    at: someTime,
    idempotency: null,
    traceparent: null,
    waitingMax: 0,
    ...more,
  };
}
