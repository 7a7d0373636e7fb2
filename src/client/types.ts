// The types of the client: those of the API, and types derived from them.
import type {
  Action,
  AddGitProviders,
  BranchesQuery,
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
  PartialText,
  RepositoriesQuery,
  SearchConversationsQuery,
  SearchQuery,
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
export type WebhookFormat = WebhookRecord['format'];
export type DeliveryState = DeliveryRecord['state'];
export type ErrorCode = ErrorBody['code'];
export type Detail = ErrorBody['details'][number];

/** MCP servers as they may be sent, including short forms. */
export type McpConfig = NonNullable<NullableMcpConfig>;

/** Selects conversations. A page has 1 to 1,000. */
export type ListFilter = Omit<ListQuery, 'limit' | 'pinned' | 'archived' | 'unread'> & {
  readonly limit?: number;
  readonly pinned?: boolean;
  readonly archived?: boolean;
  readonly unread?: boolean;
};

/** A search over conversations. A page has 1 to 50. */
export type ConversationSearch = Omit<SearchConversationsQuery, 'limit'> & { readonly limit?: number };

type WithNumber<Query> = Omit<Query, 'per_page'> & { readonly per_page?: number };

/** Selects repositories. A page has 1 to 100, also of branches and of a search. */
export type RepositoriesFilter = WithNumber<RepositoriesQuery>;
export type BranchesFilter = WithNumber<BranchesQuery>;
export type RepositorySearch = WithNumber<SearchQuery>;

/** Selects events of a log, including the first and the last. A page has 1 to 100. */
export type EventsFilter = {
  readonly [Name in keyof EventsQuery]?: Name extends 'reverse' ? boolean : number;
};

/** Selects deliveries of a webhook. A page has 1 to 100. */
export type DeliveryFilter = Omit<DeliveryPage, 'limit'> & { readonly limit?: number };

/** Text that is not in the log yet, as a stream with `partials` yields it between the events. */
export type PartialEvent = PartialText & { readonly type: 'partial' };

type Typed<Each> = Each extends { readonly action: infer Name extends string }
  ? Each & { readonly type: `action.${Name}` }
  : Each extends { readonly observation: infer Name extends string }
    ? Each & { readonly type: `observation.${Name}` }
    : never;

type Fields = Readonly<Record<string, unknown>>;

/** An event that this client does not know, because it was imported or written by another version of Parley. */
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

/** An event of a log. Narrow on `type`, which is `action.run`, `observation.edit` and so on, or `unknown`. */
export type ParleyEvent = Typed<Action> | Typed<Observation> | UnknownEvent;

export interface EventsPage {
  readonly events: ParleyEvent[];
  readonly has_more: boolean;
}

export interface Trajectory {
  readonly trajectory: ParleyEvent[];
}
