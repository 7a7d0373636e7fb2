// PATCH and DELETE of a conversation, starting and stopping it, and messages to it.
import Type from 'typebox';
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { createdExample } from '../create/examples.ts';
import { ConversationResponse } from '../create/schema.ts';
import { ConversationParams } from '../id.ts';
import { NewMessage, RenameConversation, StartConversation, Success, UserAction } from './schema.ts';
import type { Lifecycle } from './service.ts';

const access = needs('conversations:write');
const tags = ['Conversations'];

function recordRoutes(app: Server, lifecycle: Lifecycle): void {
  app.patch(
    '/api/conversations/:id',
    {
      config: { access, document: { requestExamples: { title: { title: 'Parser fix' } } } },
      schema: {
        tags,
        operationId: 'renameConversation',
        summary: 'Rename a conversation',
        description: 'The title is shown in lists. It does not change what the agent does.',
        params: ConversationParams,
        body: RenameConversation,
        response: { 200: Type.Boolean() },
      },
    },
    async ({ principal, params, body }) => {
      await lifecycle.rename(principal, params.id, body.title);
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
          'With its events, for good. Its streams end, and its id can be used again. The answer is false where there was none.',
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
        summary: 'Start a conversation again',
        description: 'One that starts or runs already is left as it is.',
        params: ConversationParams,
        body: StartConversation,
        response: { 200: ConversationResponse },
      },
    },
    async ({ principal, params }) => lifecycle.start(principal, params.id),
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
        description: 'One that has stopped is left as it is. A start or a message wakes it again.',
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
          requestExamples: { message: { message: 'Now add a test for it.' } },
          errors: ['too_many_waiting'],
        },
      },
      schema: {
        tags,
        operationId: 'sendMessage',
        summary: 'Send a message',
        description: 'A conversation that has stopped starts again.',
        params: ConversationParams,
        body: NewMessage,
        response: { 200: Success },
      },
    },
    async ({ principal, params, body }) => {
      await lifecycle.say(principal, params.id, body);
      return { success: true };
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
          },
          errors: ['too_many_waiting', 'nothing_to_confirm'],
        },
      },
      schema: {
        tags,
        operationId: 'addEvent',
        summary: 'Send an action',
        description:
          'As older clients do: a message, or a change of state (`stopped` and `paused` stop it, `running` starts it, `user_confirmed` and `user_rejected` answer the question of the agent).',
        params: ConversationParams,
        body: UserAction,
        response: { 200: Success },
      },
    },
    async ({ principal, params, body }) => {
      await lifecycle.act(principal, params.id, body);
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
