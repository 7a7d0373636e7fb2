// The types of the API, from the schemas of the service. `client/writeTypes.ts` writes them out for the library, so this
// file contains only such lines.
import type Type from 'typebox';
import type {
  ChangeUser as ChangeUserSchema,
  UserList as UserListSchema,
  UserRecord as UserRecordSchema,
} from '../accounts/schema.ts';
import type { AgentInfo as AgentInfoSchema, AgentList as AgentListSchema } from '../agents/schema.ts';
import type { Spending as SpendingSchema } from '../budgets/schema.ts';
import type { Confirmation as ConfirmationSchema } from '../conversations/confirm/schema.ts';
import type {
  ConversationResponse as ConversationResponseSchema,
  CreateConversation as CreateConversationSchema,
} from '../conversations/create/schema.ts';
import type {
  FeedbackList as FeedbackListSchema,
  NewFeedback as NewFeedbackSchema,
} from '../conversations/feedback/schema.ts';
import type { ForkConversation as ForkConversationSchema } from '../conversations/fork/schema.ts';
import type {
  ChangeConversation as ChangeConversationSchema,
  NewMessage as NewMessageSchema,
  SentMessage as SentMessageSchema,
} from '../conversations/lifecycle/schema.ts';
import type {
  ConversationInfo as ConversationInfoSchema,
  ConversationList as ConversationListSchema,
  ListQuery as ListQuerySchema,
} from '../conversations/list/schema.ts';
import type {
  ConversationMatches as ConversationMatchesSchema,
  SearchQuery as SearchConversationsQuerySchema,
  SearchMatch as SearchMatchSchema,
  SearchResult as SearchResultSchema,
  SearchResults as SearchResultsSchema,
} from '../conversations/search/schema.ts';
import type { Usage as UsageSchema } from '../conversations/usage/schema.ts';
import type { Change as ChangeSchema } from '../events/changes/schema.ts';
import type { EventsQuery as EventsQuerySchema, PartialText as PartialTextSchema } from '../events/schema.ts';
import type {
  Action as ActionSchema,
  Observation as ObservationSchema,
} from '../events/vocabulary/vocabulary.ts';
import type { Diagnostics as DiagnosticsSchema } from '../http/diagnostics.ts';
import type { ErrorBody as ErrorBodySchema } from '../http/errors.ts';
import type { ServerInfo as ServerInfoSchema } from '../http/health.ts';
import type {
  CreatedKey as CreatedKeySchema,
  KeyList as KeyListSchema,
  KeyRecord as KeyRecordSchema,
  Me as MeSchema,
  NewKey as NewKeySchema,
} from '../keys/schema.ts';
import type {
  CheckedMcp as CheckedMcpSchema,
  CheckedServer as CheckedServerSchema,
} from '../mcp/checkSchema.ts';
import type { NullableMcpConfig as NullableMcpConfigSchema } from '../mcp/schema.ts';
import type {
  ProviderKeyList as ProviderKeyListSchema,
  ProviderKey as ProviderKeySchema,
} from '../providerKeys/schema.ts';
import type {
  BranchesQuery as BranchesQuerySchema,
  BranchPage as BranchPageSchema,
  GitUser as GitUserSchema,
  InstallationList as InstallationListSchema,
  MicroagentContentQuery as MicroagentContentQuerySchema,
  MicroagentContent as MicroagentContentSchema,
  MicroagentList as MicroagentListSchema,
  MicroagentsQuery as MicroagentsQuerySchema,
  RepositoriesQuery as RepositoriesQuerySchema,
  RepositoryList as RepositoryListSchema,
  RepositoryPage as RepositoryPageSchema,
  SearchQuery as SearchQuerySchema,
  TaskList as TaskListSchema,
} from '../repositories/schema.ts';
import type {
  AddGitProviders as AddGitProvidersSchema,
  NewSecret as NewSecretSchema,
  SecretList as SecretListSchema,
  SecretUpdate as SecretUpdateSchema,
} from '../secrets/schema.ts';
import type {
  AppliedDefaults as AppliedDefaultsSchema,
  ChangeDefaults as ChangeDefaultsSchema,
  DefaultSettings as DefaultSettingsSchema,
} from '../settings/defaultsSchema.ts';
import type {
  PatchSettings as PatchSettingsSchema,
  FullSettings as SettingsSchema,
} from '../settings/schema.ts';
import type {
  EndedSessions as EndedSessionsSchema,
  IdentityList as IdentityListSchema,
  IdentityRecord as IdentityRecordSchema,
  NewIdentity as NewIdentitySchema,
  SessionList as SessionListSchema,
  SessionRecord as SessionRecordSchema,
  SignedIn as SignedInSchema,
  SignInAnswer as SignInAnswerSchema,
  SignInProvider as SignInProviderSchema,
  StartedSignIn as StartedSignInSchema,
} from '../signIn/schema.ts';
import type {
  CreatedWebhook as CreatedWebhookSchema,
  DeliveryList as DeliveryListSchema,
  DeliveryPage as DeliveryPageSchema,
  DeliveryRecord as DeliveryRecordSchema,
  NewWebhook as NewWebhookSchema,
  WebhookList as WebhookListSchema,
  WebhookRecord as WebhookRecordSchema,
} from '../webhooks/schema.ts';
import type {
  GitChange as GitChangeSchema,
  GitDiff as GitDiffSchema,
  WorkspaceMicroagents as WorkspaceMicroagentsSchema,
} from '../workspaces/read/schema.ts';
import type { Upload as UploadSchema } from '../workspaces/write/schema.ts';

export type Action = Type.Static<typeof ActionSchema>;
export type AddGitProviders = Type.Static<typeof AddGitProvidersSchema>;
export type AppliedDefaults = Type.Static<typeof AppliedDefaultsSchema>;
export type BranchPage = Type.Static<typeof BranchPageSchema>;
export type BranchesQuery = Type.Static<typeof BranchesQuerySchema>;
export type Change = Type.Static<typeof ChangeSchema>;
export type ChangeDefaults = Type.Static<typeof ChangeDefaultsSchema>;
export type DefaultSettings = Type.Static<typeof DefaultSettingsSchema>;
export type ChangeUser = Type.Static<typeof ChangeUserSchema>;
export type ChangeConversation = Type.Static<typeof ChangeConversationSchema>;
export type CheckedMcp = Type.Static<typeof CheckedMcpSchema>;
export type CheckedServer = Type.Static<typeof CheckedServerSchema>;
export type Confirmation = Type.Static<typeof ConfirmationSchema>;
export type ConversationInfo = Type.Static<typeof ConversationInfoSchema>;
export type ConversationList = Type.Static<typeof ConversationListSchema>;
export type ConversationResponse = Type.Static<typeof ConversationResponseSchema>;
export type CreateConversation = Type.Static<typeof CreateConversationSchema>;
export type CreatedKey = Type.Static<typeof CreatedKeySchema>;
export type CreatedWebhook = Type.Static<typeof CreatedWebhookSchema>;
export type DeliveryList = Type.Static<typeof DeliveryListSchema>;
export type DeliveryPage = Type.Static<typeof DeliveryPageSchema>;
export type DeliveryRecord = Type.Static<typeof DeliveryRecordSchema>;
export type Diagnostics = Type.Static<typeof DiagnosticsSchema>;
export type ErrorBody = Type.Static<typeof ErrorBodySchema>;
export type EventsQuery = Type.Static<typeof EventsQuerySchema>;
export type FeedbackList = Type.Static<typeof FeedbackListSchema>;
export type ForkConversation = Type.Static<typeof ForkConversationSchema>;
export type GitChange = Type.Static<typeof GitChangeSchema>;
export type GitDiff = Type.Static<typeof GitDiffSchema>;
export type GitUser = Type.Static<typeof GitUserSchema>;
export type InstallationList = Type.Static<typeof InstallationListSchema>;
export type KeyList = Type.Static<typeof KeyListSchema>;
export type KeyRecord = Type.Static<typeof KeyRecordSchema>;
export type ListQuery = Type.Static<typeof ListQuerySchema>;
export type Me = Type.Static<typeof MeSchema>;
export type MicroagentContent = Type.Static<typeof MicroagentContentSchema>;
export type MicroagentContentQuery = Type.Static<typeof MicroagentContentQuerySchema>;
export type MicroagentList = Type.Static<typeof MicroagentListSchema>;
export type MicroagentsQuery = Type.Static<typeof MicroagentsQuerySchema>;
export type NewFeedback = Type.Static<typeof NewFeedbackSchema>;
export type NewKey = Type.Static<typeof NewKeySchema>;
export type NewMessage = Type.Static<typeof NewMessageSchema>;
export type NewSecret = Type.Static<typeof NewSecretSchema>;
export type NewWebhook = Type.Static<typeof NewWebhookSchema>;
export type NullableMcpConfig = Type.Static<typeof NullableMcpConfigSchema>;
export type Observation = Type.Static<typeof ObservationSchema>;
export type PartialText = Type.Static<typeof PartialTextSchema>;
export type AgentInfo = Type.Static<typeof AgentInfoSchema>;
export type AgentList = Type.Static<typeof AgentListSchema>;
export type ProviderKey = Type.Static<typeof ProviderKeySchema>;
export type ProviderKeyList = Type.Static<typeof ProviderKeyListSchema>;
export type RepositoriesQuery = Type.Static<typeof RepositoriesQuerySchema>;
export type RepositoryList = Type.Static<typeof RepositoryListSchema>;
export type RepositoryPage = Type.Static<typeof RepositoryPageSchema>;
export type ConversationMatches = Type.Static<typeof ConversationMatchesSchema>;
export type SearchConversationsQuery = Type.Static<typeof SearchConversationsQuerySchema>;
export type SearchMatch = Type.Static<typeof SearchMatchSchema>;
export type SearchResult = Type.Static<typeof SearchResultSchema>;
export type SearchResults = Type.Static<typeof SearchResultsSchema>;
export type SearchQuery = Type.Static<typeof SearchQuerySchema>;
export type SecretList = Type.Static<typeof SecretListSchema>;
export type SecretUpdate = Type.Static<typeof SecretUpdateSchema>;
export type SentMessage = Type.Static<typeof SentMessageSchema>;
export type ServerInfo = Type.Static<typeof ServerInfoSchema>;
export type Settings = Type.Static<typeof SettingsSchema>;
export type SettingsChange = Type.Static<typeof PatchSettingsSchema>;
export type Spending = Type.Static<typeof SpendingSchema>;
export type TaskList = Type.Static<typeof TaskListSchema>;
export type Upload = Type.Static<typeof UploadSchema>;
export type Usage = Type.Static<typeof UsageSchema>;
export type UserList = Type.Static<typeof UserListSchema>;
export type UserRecord = Type.Static<typeof UserRecordSchema>;
export type WebhookList = Type.Static<typeof WebhookListSchema>;
export type WebhookRecord = Type.Static<typeof WebhookRecordSchema>;
export type WorkspaceMicroagents = Type.Static<typeof WorkspaceMicroagentsSchema>;
export type EndedSessions = Type.Static<typeof EndedSessionsSchema>;
export type IdentityList = Type.Static<typeof IdentityListSchema>;
export type IdentityRecord = Type.Static<typeof IdentityRecordSchema>;
export type NewIdentity = Type.Static<typeof NewIdentitySchema>;
export type SessionList = Type.Static<typeof SessionListSchema>;
export type SessionRecord = Type.Static<typeof SessionRecordSchema>;
export type SignedIn = Type.Static<typeof SignedInSchema>;
export type SignInAnswer = Type.Static<typeof SignInAnswerSchema>;
export type SignInProvider = Type.Static<typeof SignInProviderSchema>;
export type StartedSignIn = Type.Static<typeof StartedSignInSchema>;
