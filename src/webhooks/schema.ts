// The public form of webhooks: the events that they subscribe to, and the record, which never contains the secret.
import Type from 'typebox';
import { checked, kib, nullableText, oneOf, orNull, text, time, wholeNumber } from '../validation/schema.ts';

const webhookEvents = ['conversation.status', 'conversation.event', 'conversation.waiting'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** What the requests look like. All but the first are messages for people in a chat service. */
export const webhookFormats = ['parley', 'slack', 'mattermost', 'discord', 'teams', 'ntfy'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

export const deliveryStates = ['waiting', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const urlBytesMax = 2 * kib;
const pageMax = 100;

function urlFault(value: string): string | undefined {
  const url = /^https?:\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) ? URL.parse(value) : null;
  if (url === null || url.hostname === '') return 'must be an http or https URL with a host';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return value.includes('#') ? 'must not contain a fragment' : undefined;
}

export const NewWebhook = Type.Object(
  {
    url: checked(
      text({ bytesMax: urlBytesMax, description: 'An http or https URL. It may contain a secret of yours.' }),
      urlFault,
    ),
    events: Type.Array(oneOf(webhookEvents), {
      minItems: 1,
      maxItems: webhookEvents.length,
      uniqueItems: true,
      description:
        'The types of events to send: status changes, conversation events, and that a conversation waits for your approval or answer.',
    }),
    description: Type.Optional(nullableText({ bytesMax: kib, description: 'A description of your choice.' })),
    format: Type.Optional(
      oneOf(webhookFormats, {
        description:
          'The format of the requests. Default: parley, which is JSON for programs. The others are messages for people in a chat service, without conversation.event, and their URL is not shown again.',
      }),
    ),
  },
  { $id: 'NewWebhook', additionalProperties: false },
);
export type NewWebhook = Type.Static<typeof NewWebhook>;

const webhookFields = {
  id: Type.String(),
  url: Type.String({ description: 'Without its path if the format is that of a chat service.' }),
  events: Type.Array(oneOf(webhookEvents)),
  description: orNull(Type.String()),
  format: oneOf(webhookFormats),
  created_at: time(),
  waiting: Type.Integer({ description: 'The number of pending deliveries, counted up to 10,000.' }),
  failed: Type.Integer({ description: 'The number of failed deliveries, counted up to 10,000.' }),
};

export const WebhookRecord = Type.Object(webhookFields, { $id: 'Webhook', additionalProperties: false });
export type WebhookRecord = Type.Static<typeof WebhookRecord>;

export const CreatedWebhook = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({ description: 'The signing secret. It is shown only once.' }),
  },
  { $id: 'CreatedWebhook', additionalProperties: false },
);
export type CreatedWebhook = Type.Static<typeof CreatedWebhook>;

export const WebhookList = Type.Object(
  { webhooks: Type.Array(WebhookRecord) },
  { $id: 'WebhookList', additionalProperties: false },
);

export const DeliveryPage = Type.Object({
  state: Type.Optional(oneOf(deliveryStates, { description: 'Filters by state. Default: all.' })),
  limit: Type.Optional(
    checked(text({ bytesMax: 8, description: `1 to ${pageMax}; default: ${pageMax}.` }), (value) =>
      wholeNumber(value, pageMax) === undefined ? `must be a whole number from 1 to ${pageMax}` : undefined,
    ),
  ),
  page_id: Type.Optional(
    text({
      bytesMax: 64,
      pattern: '^msg_[0-9a-f]{32}$',
      description: 'The next_page_id of the previous page.',
    }),
  ),
});
export type DeliveryPage = Type.Static<typeof DeliveryPage>;

/** How many deliveries a page contains. */
export function pageSize({ limit }: DeliveryPage): number {
  return limit === undefined ? pageMax : Number(limit);
}

export const DeliveryRecord = Type.Object(
  {
    id: Type.String({ description: 'The `webhook-id` of the request, which is the same for every attempt.' }),
    type: oneOf(webhookEvents),
    conversation_id: Type.String(),
    state: oneOf(deliveryStates),
    created_at: time(),
    attempts: Type.Integer(),
    next_attempt_at: orNull(time()),
    last_status: orNull(
      Type.Integer({ description: 'The status of the last response, or null if there was none.' }),
    ),
    last_error: orNull(Type.String({ description: 'Why the last attempt failed.' })),
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
  { redelivered: Type.Integer({ description: 'The number of deliveries that will be sent again.' }) },
  { $id: 'Redelivered', additionalProperties: false },
);
