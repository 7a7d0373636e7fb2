// The types of the client: those of the wire, and what follows from them.
import type {
  Action,
  AddGitProviders,
  Confirmation,
  ConversationInfo,
  DeliveryPage,
  DeliveryRecord,
  ErrorBody,
  EventsQuery,
  KeyRecord,
  ListQuery,
  NullableMcpConfig,
  Observation,
  WebhookRecord,
} from './wire.ts';

export type * from './wire.ts';

export type ConversationStatus = ConversationInfo['status'];
export type StopReason = NonNullable<ConversationInfo['stop_reason']>;
export type StopCode = StopReason['code'];
export type Decision = Confirmation['decision'];
export type Scope = KeyRecord['scopes'][number];
export type GitProvider = keyof AddGitProviders['provider_tokens'];
export type WebhookEvent = WebhookRecord['events'][number];
export type DeliveryState = DeliveryRecord['state'];
export type ErrorCode = ErrorBody['code'];
export type Detail = ErrorBody['details'][number];

/** Tool servers as they may be sent, short forms included. */
export type McpConfig = NonNullable<NullableMcpConfig>;

/** Which conversations, and how many of them a page holds: 1 to 1,000. */
export type ListFilter = Omit<ListQuery, 'limit'> & { readonly limit?: number };

/** Which events of a log, first and last included, and how many of them a page holds: 1 to 100. */
export type EventsFilter = {
  readonly [Name in keyof EventsQuery]?: Name extends 'reverse' ? boolean : number;
};

/** Which messages of a webhook, and how many of them a page holds: 1 to 100. */
export type DeliveryFilter = Omit<DeliveryPage, 'limit'> & { readonly limit?: number };

type Typed<Each> = Each extends { readonly action: infer Name extends string }
  ? Each & { readonly type: `action.${Name}` }
  : Each extends { readonly observation: infer Name extends string }
    ? Each & { readonly type: `observation.${Name}` }
    : never;

type Fields = Readonly<Record<string, unknown>>;

/** An event that this client does not know: it was imported, or another version of Parley wrote it. */
export interface UnknownEvent {
  readonly type: 'unknown';
  readonly id: number;
  readonly timestamp: string;
  readonly source: 'user' | 'agent' | 'environment';
  readonly message: string;
  readonly action?: string;
  readonly args: Fields;
  readonly observation?: string;
  readonly content: string;
  readonly extras: Fields;
  readonly tool_call_id?: string;
  readonly cause?: number;
  readonly replayed?: boolean;
}

/** An event of a log. `type` is `action.run`, `observation.edit` and so on, or `unknown`: narrow on it. */
export type ParleyEvent = Typed<Action> | Typed<Observation> | UnknownEvent;

export interface EventsPage {
  readonly events: ParleyEvent[];
  readonly has_more: boolean;
}

export interface Trajectory {
  readonly trajectory: ParleyEvent[];
}
