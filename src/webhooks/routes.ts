// /api/webhooks, and the deliveries of each.
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
        summary: 'Create a webhook',
        description:
          'Parley sends POST requests to the URL, signed according to Standard Webhooks, and retries until it gets a 2xx response. The response contains the signing secret. It is shown only once.',
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
        summary: 'List webhooks',
        description: 'The signing secrets are not returned.',
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
        description: 'Pending deliveries are discarded.',
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
        summary: 'List deliveries',
        description:
          'Lists pending and failed deliveries, the newest first. Successful deliveries are not kept.',
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
        summary: 'Redeliver all failed deliveries',
        description: '`redelivered` is the number of deliveries that will be sent again.',
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
        summary: 'Redeliver a failed delivery',
        description: '`redelivered` is 0 if the delivery has not failed.',
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
