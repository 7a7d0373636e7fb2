// /api/webhooks, and the messages for each.
import Type from 'typebox';
import { needs } from '../http/access.ts';
import { Message } from '../http/message.ts';
import type { Server } from '../http/routeTable.ts';
import { createdWebhookExample, newWebhookExample } from './examples.ts';
import {
  CreatedWebhook,
  DeliveryList,
  DeliveryPage,
  NewWebhook,
  Redelivered,
  WebhookList,
} from './schema.ts';
import type { Webhooks } from './service.ts';

const idLengthMax = 64;
const webhookId = Type.String({ maxLength: idLengthMax, description: 'Id of the webhook.' });
const deliveryId = Type.String({ maxLength: idLengthMax, description: 'Id of the delivery.' });
const WebhookInPath = Type.Object({ id: webhookId });
const DeliveryInPath = Type.Object({ id: webhookId, delivery: deliveryId });
const access = needs('webhooks:manage');
const tags = ['Webhooks'];

function managementRoutes(app: Server, webhooks: Webhooks): void {
  app.post(
    '/api/webhooks',
    {
      config: {
        access,
        document: {
          errors: ['limit_reached', 'sealing_key_missing'],
          requestExamples: { status: newWebhookExample },
          responseExamples: { status: createdWebhookExample },
        },
      },
      schema: {
        tags,
        operationId: 'createWebhook',
        summary: 'Be told of what happens',
        description:
          'Messages are POSTed to the URL, signed as Standard Webhooks describes, until it answers 2xx. The answer holds the secret that signs them, this once.',
        body: NewWebhook,
        response: { 201: CreatedWebhook },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return webhooks.create(request.principal, request.body);
    },
  );

  app.get(
    '/api/webhooks',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'listWebhooks',
        summary: 'List your webhooks',
        description: 'The secrets that sign their messages are not shown.',
        response: { 200: WebhookList },
      },
    },
    async (request) => ({ webhooks: await webhooks.list(request.principal) }),
  );

  app.delete(
    '/api/webhooks/:id',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        description: 'Messages that wait for it are not sent any more.',
        params: WebhookInPath,
        response: { 200: Message },
      },
    },
    async (request) => {
      await webhooks.remove(request.principal, request.params.id);
      return { message: 'Webhook deleted' };
    },
  );
}

function deliveryRoutes(app: Server, webhooks: Webhooks): void {
  app.get(
    '/api/webhooks/:id/deliveries',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'listDeliveries',
        summary: 'List messages that wait or failed',
        description: 'The newest first. Messages that have arrived are not kept.',
        params: WebhookInPath,
        querystring: DeliveryPage,
        response: { 200: DeliveryList },
      },
    },
    (request) => webhooks.deliveries(request.principal, request.params.id, request.query),
  );

  app.post(
    '/api/webhooks/:id/redeliver',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'redeliverAll',
        summary: 'Send all failed messages again',
        description: '`redelivered` is the number of messages that will be sent again.',
        params: WebhookInPath,
        response: { 200: Redelivered },
      },
    },
    async (request) => ({ redelivered: await webhooks.redeliver(request.principal, request.params.id) }),
  );

  app.post(
    '/api/webhooks/:id/deliveries/:delivery/redeliver',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'redeliver',
        summary: 'Send a failed message again',
        description: 'One that has not failed is left alone: `redelivered` is then 0.',
        params: DeliveryInPath,
        response: { 200: Redelivered },
      },
    },
    async (request) => {
      const { id, delivery } = request.params;
      return { redelivered: await webhooks.redeliver(request.principal, id, delivery) };
    },
  );
}

export function webhookRoutes(app: Server, webhooks: Webhooks): void {
  managementRoutes(app, webhooks);
  deliveryRoutes(app, webhooks);
}
