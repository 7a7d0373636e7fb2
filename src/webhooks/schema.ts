// Webhooks as callers see them: what they want to hear of, and the record that never holds the secret.
import Type from 'typebox';
import { checked, kib, nullableText, oneOf, orNull, text, time, wholeNumber } from '../validation/schema.ts';

const webhookEvents = ['conversation.status', 'conversation.event'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

export const deliveryStates = ['waiting', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const urlBytesMax = 2 * kib;
const pageMax = 100;

function urlFault(value: string): string | undefined {
  const url = /^https?:\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) ? URL.parse(value) : null;
  if (url === null || url.hostname === '') return 'must be an http or https URL with a host';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return value.includes('#') ? 'must not hold a fragment' : undefined;
}

export const NewWebhook = Type.Object(
  {
    url: checked(
      text({ bytesMax: urlBytesMax, description: 'http or https. It may hold a secret of yours.' }),
      urlFault,
    ),
    events: Type.Array(oneOf(webhookEvents), {
      minItems: 1,
      maxItems: webhookEvents.length,
      uniqueItems: true,
      description: 'What to be told of: changes of status, entries of the log.',
    }),
    description: Type.Optional(nullableText({ bytesMax: kib, description: 'In your own words.' })),
  },
  { $id: 'NewWebhook', additionalProperties: false },
);
export type NewWebhook = Type.Static<typeof NewWebhook>;

const webhookMembers = {
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(oneOf(webhookEvents)),
  description: orNull(Type.String()),
  created_at: time(),
  waiting: Type.Integer({ description: 'Messages on their way; counted up to 10,000.' }),
  failed: Type.Integer({ description: 'Messages that were given up; counted up to 10,000.' }),
};

export const WebhookRecord = Type.Object(webhookMembers, { $id: 'Webhook', additionalProperties: false });
export type WebhookRecord = Type.Static<typeof WebhookRecord>;

export const CreatedWebhook = Type.Object(
  {
    ...webhookMembers,
    secret: Type.String({ description: 'Proves that messages are ours. It is shown this once.' }),
  },
  { $id: 'CreatedWebhook', additionalProperties: false },
);
export type CreatedWebhook = Type.Static<typeof CreatedWebhook>;

export const WebhookList = Type.Object(
  { webhooks: Type.Array(WebhookRecord) },
  { $id: 'WebhookList', additionalProperties: false },
);

export const DeliveryPage = Type.Object(
  {
    state: Type.Optional(oneOf(deliveryStates, { description: 'Only those; absent: all.' })),
    limit: Type.Optional(
      checked(text({ bytesMax: 8, description: `1 to ${pageMax}; default: ${pageMax}.` }), (value) =>
        wholeNumber(value, pageMax) === undefined ? `must be a whole number from 1 to ${pageMax}` : undefined,
      ),
    ),
    page_id: Type.Optional(
      text({
        bytesMax: 64,
        pattern: '^msg_[0-9a-f]{32}$',
        description: 'The next_page_id of the page before.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type DeliveryPage = Type.Static<typeof DeliveryPage>;

/** How many a page holds. */
export function pageSize({ limit }: DeliveryPage): number {
  return limit === undefined ? pageMax : Number(limit);
}

export const DeliveryRecord = Type.Object(
  {
    id: Type.String({ description: 'The `webhook-id` of the message: the same at every attempt.' }),
    type: oneOf(webhookEvents),
    conversation_id: Type.String(),
    state: oneOf(deliveryStates),
    created_at: time(),
    attempts: Type.Integer(),
    next_attempt_at: orNull(time()),
    last_status: orNull(Type.Integer({ description: 'Of the last answer; null where there was none.' })),
    last_error: orNull(Type.String({ description: 'Why the last attempt failed, as a sentence.' })),
  },
  { $id: 'Delivery', additionalProperties: false },
);
export type DeliveryRecord = Type.Static<typeof DeliveryRecord>;

export const DeliveryList = Type.Object(
  { deliveries: Type.Array(DeliveryRecord), next_page_id: orNull(Type.String()) },
  { $id: 'DeliveryList', additionalProperties: false },
);
export type DeliveryList = Type.Static<typeof DeliveryList>;

export const Redelivered = Type.Object(
  { redelivered: Type.Integer({ description: 'How many failed messages are sent again.' }) },
  { $id: 'Redelivered', additionalProperties: false },
);
