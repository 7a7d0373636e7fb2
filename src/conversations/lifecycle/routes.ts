// PATCH and DELETE of a conversation, starting and stopping it, and messages to it.
import Type from 'typebox';
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { createdExample } from '../create/examples.ts';
import { ConversationResponse } from '../create/schema.ts';
import { ConversationParams } from '../id.ts';
import { IdempotencyHeader } from '../idempotency/schema.ts';
import {
  ChangeConversation,
  NewMessage,
  SentMessage,
  StartConversation,
  Success,
  UserAction,
} from './schema.ts';
import type { Lifecycle } from './service.ts';

const access = needs('conversations:write');
const tags = ['Conversations'];

function recordRoutes(app: Server, lifecycle: Lifecycle): void {
  app.patch(
    '/api/conversations/:id',
    {
      config: {
        access,
        document: {
          requestExamples: {
            title: { title: 'Parser fix' },
            model: { agent: 'claude', llm_model: 'anthropic/claude-sonnet-4-5' },
            approval: { confirmation_mode: true },
            archive: { archived: true, pinned: false },
            seen: { seen_event_id: 12 },
          },
          errors: ['provider_key_missing'],
        },
      },
      schema: {
        tags,
        operationId: 'changeConversation',
        summary: 'Change the title, the agent, the model, the approval mode or the marks of a conversation',
        description:
          'Absent fields stay as they are. Another agent, model or approval mode is used from the next turn on, and another agent gets the history of the conversation. Null or an empty string stands for the agent that is in your settings now, or for the model or approval mode in your settings.',
        params: ConversationParams,
        body: ChangeConversation,
        response: { 200: Type.Boolean() },
      },
    },
    async ({ principal, params, body }) => {
      await lifecycle.change(principal, params.id, body);
      return true;
    },
  );

  app.delete(
    '/api/conversations/:id',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'deleteConversation',
        summary: 'Delete a conversation',
        description:
          'Deletes the conversation and its events permanently. Its streams end, and its id can be used again. Returns false if it did not exist.',
        params: ConversationParams,
        response: { 200: Type.Boolean() },
      },
    },
    async ({ principal, params }) => lifecycle.remove(principal, params.id),
  );
}

function runRoutes(app: Server, lifecycle: Lifecycle): void {
  app.post(
    '/api/conversations/:id/start',
    {
      config: {
        access,
        document: { responseExamples: { started: createdExample }, errors: ['too_many_waiting'] },
      },
      schema: {
        tags,
        operationId: 'startConversation',
        summary: 'Resume a conversation',
        description: 'A conversation that is starting or running is not changed.',
        params: ConversationParams,
        body: StartConversation,
        response: { 200: ConversationResponse },
      },
    },
    async ({ principal, params, span }) => lifecycle.start(principal, params.id, span),
  );

  app.post(
    '/api/conversations/:id/stop',
    {
      config: {
        access,
        document: {
          responseExamples: { stopped: { ...createdExample, conversation_status: 'STOPPED' } },
        },
      },
      schema: {
        tags,
        operationId: 'stopConversation',
        summary: 'Stop a conversation',
        description: 'A conversation that has stopped is not changed. A start or a message resumes it.',
        params: ConversationParams,
        response: { 200: ConversationResponse },
      },
    },
    async ({ principal, params }) => lifecycle.stop(principal, params.id),
  );
}

function messageRoute(app: Server, lifecycle: Lifecycle): void {
  app.post(
    '/api/conversations/:id/message',
    {
      config: {
        access,
        document: {
          headers: IdempotencyHeader,
          requestExamples: { message: { message: 'Now add a test for it.' } },
          responseExamples: { sent: { success: true, event_id: 12 } },
          errors: ['too_many_waiting', 'idempotency_key_reused'],
        },
      },
      schema: {
        tags,
        operationId: 'sendMessage',
        summary: 'Send a message',
        description:
          'A stopped conversation is resumed. With the header `Idempotency-Key`, which is kept for 24 hours, a repeated request adds the message once and gets the same response.',
        params: ConversationParams,
        body: NewMessage,
        response: { 200: SentMessage },
      },
    },
    async ({ principal, params, body, headers, span }) => {
      const idempotencyKey = headers['idempotency-key'] as string | undefined;
      const eventId = await lifecycle.say(principal, params.id, body, { idempotencyKey, span });
      return { success: true, event_id: eventId };
    },
  );
}

function actionRoute(app: Server, lifecycle: Lifecycle): void {
  app.post(
    '/api/conversations/:id/events',
    {
      config: {
        access,
        document: {
          requestExamples: {
            message: { action: 'message', args: { content: 'Now add a test for it.', image_urls: [] } },
            stop: { action: 'change_agent_state', args: { agent_state: 'stopped' } },
            command: { action: 'run', args: { command: 'git status' } },
          },
          errors: ['too_many_waiting', 'nothing_to_confirm', 'not_running', 'limit_reached'],
        },
      },
      schema: {
        tags,
        operationId: 'addEvent',
        summary: 'Send an action',
        description:
          'For existing clients: a message, a change of state (`stopped` and `paused` stop the conversation, `running` resumes it, `user_confirmed` and `user_rejected` answer the approval request), or a command of the user (`run`), which the sandbox of a running conversation executes.',
        params: ConversationParams,
        body: UserAction,
        response: { 200: Success },
      },
    },
    async ({ principal, params, body, span }) => {
      await lifecycle.act(principal, params.id, body, span);
      return { success: true };
    },
  );
}

export function lifecycleRoutes(app: Server, lifecycle: Lifecycle): void {
  recordRoutes(app, lifecycle);
  runRoutes(app, lifecycle);
  messageRoute(app, lifecycle);
  actionRoute(app, lifecycle);
}
