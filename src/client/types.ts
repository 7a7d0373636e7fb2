// What goes over the wire, as types: all of them come from the schemas of the service, and nothing of it but types.
import type Type from 'typebox';
import type {
  Event as EventSchema,
  EventsPage as EventsPageSchema,
  EventsQuery,
  Trajectory as TrajectorySchema,
} from '../events/schema.ts';
import type { ServerInfo as ServerInfoSchema } from '../http/health.ts';
import type { KeyList as KeyListSchema } from '../keys/schema.ts';
import type { ListQuery } from '../listing/schema.ts';
import type { NullableMcpConfig } from '../mcp/schema.ts';
import type { SecretList as SecretListSchema } from '../secrets/schema.ts';
import type { DeliveryPage, WebhookList as WebhookListSchema } from '../webhooks/schema.ts';

export type { Change } from '../changes/shape.ts';
export type { Confirmation, Decision } from '../confirmations/schema.ts';
export type { ConversationResponse, CreateConversation } from '../conversations/schema.ts';
export type { Detail, ErrorCode } from '../errors.ts';
export type { CreatedKey, KeyRecord, NewKey, Scope } from '../keys/schema.ts';
export type { NewMessage } from '../lifecycle/schema.ts';
export type { ConversationStatus, StopCode, StopReason } from '../lifecycle/states.ts';
export type { ConversationInfo, ConversationList } from '../listing/schema.ts';
export type { CheckedMcp, CheckedServer } from '../mcp/checkSchema.ts';
export type { GitProvider } from '../providers.ts';
export type { AddGitProviders, NewSecret, SecretUpdate } from '../secrets/schema.ts';
export type { FullSettings as Settings, SettingsChange } from '../settings/schema.ts';
export type { Usage } from '../usage/schema.ts';
export type {
  CreatedWebhook,
  DeliveryList,
  DeliveryRecord,
  DeliveryState,
  NewWebhook,
  WebhookEvent,
  WebhookRecord,
} from '../webhooks/schema.ts';
export type { GitChange, GitDiff } from '../workspaces/schema.ts';

/** One entry of a log; docs/events.md tells of every kind. */
export type ParleyEvent = Type.Static<typeof EventSchema>;
export type EventsPage = Type.Static<typeof EventsPageSchema>;
export type Trajectory = Type.Static<typeof TrajectorySchema>;
export type ServerInfo = Type.Static<typeof ServerInfoSchema>;
export type KeyList = Type.Static<typeof KeyListSchema>;
export type SecretList = Type.Static<typeof SecretListSchema>;
export type WebhookList = Type.Static<typeof WebhookListSchema>;
/** Tool servers as they may be sent, short forms included. */
export type McpConfig = NonNullable<Type.Static<typeof NullableMcpConfig>>;

/** Which conversations, and how many of them a page holds: 1 to 1,000. */
export type ListFilter = Omit<ListQuery, 'limit'> & { readonly limit?: number };

/** Which events of a log, first and last included, and how many of them a page holds: 1 to 100. */
export type EventsFilter = {
  readonly [Name in keyof EventsQuery]?: Name extends 'reverse' ? boolean : number;
};

export type DeliveryFilter = Omit<DeliveryPage, 'limit'> & { readonly limit?: number };
