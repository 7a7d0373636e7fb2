// The public form of conversations.
import Type from 'typebox';
import { flag, kib, nullableOneOf, oneOf, orNull, text } from '../../validation/schema.ts';
import { folderBytesMax } from '../create/schema.ts';
import { agentStates, conversationStatuses, stopCodes } from '../states.ts';
import { Usage } from '../usage/schema.ts';

export const listMax = 1_000;

export const StopReason = Type.Object(
  {
    code: oneOf(stopCodes),
    message: Type.String(),
  },
  { $id: 'StopReason', additionalProperties: false },
);

const nullableString = (description?: string) =>
  orNull(Type.String(), description === undefined ? {} : { description });

/** Values that existing clients know. */
export const runtimeStatuses = [
  'STATUS$STARTING_RUNTIME',
  'STATUS$SETTING_UP_WORKSPACE',
  'STATUS$RUNTIME_STARTED',
  'STATUS$READY',
  'STATUS$STOPPED',
] as const;
export type RuntimeStatus = (typeof runtimeStatuses)[number];

export const startSteps = [
  'waiting_for_worker',
  'starting_sandbox',
  'preparing_workspace',
  'starting_agent',
] as const;
export type StartStep = (typeof startSteps)[number];

export const StartProgress = Type.Object(
  {
    step: oneOf(startSteps),
    details: orNull(Type.String(), { description: 'For people, such as the progress of a clone.' }),
  },
  { $id: 'StartProgress', additionalProperties: false },
);
export type StartProgress = Type.Static<typeof StartProgress>;

export const ForkedFrom = Type.Object(
  {
    conversation_id: Type.String(),
    event_id: Type.Integer({ description: 'The last event of it that was copied.' }),
  },
  { $id: 'ForkedFrom', additionalProperties: false },
);
export type ForkedFrom = Type.Static<typeof ForkedFrom>;

export const ConversationInfo = Type.Object(
  {
    conversation_id: Type.String(),
    title: Type.String(),
    last_updated_at: Type.String(),
    status: oneOf(conversationStatuses),
    agent_state: nullableOneOf(agentStates, {
      description: 'The state of the agent. Null unless the conversation is RUNNING.',
    }),
    runtime_status: nullableOneOf(runtimeStatuses, {
      description:
        'The status of the sandbox, for existing clients. Null while the conversation waits for a worker.',
    }),
    start_progress: orNull(StartProgress, { description: 'Null unless the conversation is STARTING.' }),
    selected_repository: nullableString(),
    selected_branch: nullableString(),
    git_provider: nullableString(),
    trigger: nullableString(),
    num_connections: Type.Integer({
      description: 'The number of subscribers to its events in this process.',
    }),
    url: Type.String({ description: 'The URL of the conversation in this API.' }),
    session_api_key: orNull(
      Type.String({
        description:
          'An API key for this conversation alone. It has the scopes of your key, and is valid until that key expires or is revoked, or the conversation is deleted.',
      }),
    ),
    created_at: Type.String(),
    pr_number: Type.Array(Type.Integer()),
    stop_reason: orNull(StopReason, { description: 'Why the conversation stopped; null if it has not.' }),
    usage: Usage,
    agent: nullableString(
      'Its agent; after a change, the one that takes the next turn. Null until its agent has started, if none was chosen: it then starts with the one in your settings.',
    ),
    llm_model: nullableString('The model that was chosen for it; null means the one in your settings.'),
    confirmation_mode: orNull(Type.Boolean(), {
      description: 'Whether you have to approve what its agent does; null means what your settings say.',
    }),
    client_folder: nullableString("The folder on the client's machine that its workspace corresponds to."),
    pinned: Type.Boolean(),
    archived: Type.Boolean(),
    unread: Type.Boolean({
      description: 'Whether something has happened after the last event that you have seen.',
    }),
    last_event_id: orNull(Type.Integer(), { description: 'The newest event; null if there is none.' }),
    seen_event_id: orNull(Type.Integer(), {
      description: 'The last event that you have seen, as a client has reported it; null if there is none.',
    }),
    forked_from: orNull(ForkedFrom, {
      description:
        'The conversation that it was forked from, which may have been deleted since; null if it was not.',
    }),
  },
  { $id: 'ConversationInfo', additionalProperties: false },
);
export type ConversationInfo = Type.Static<typeof ConversationInfo>;

export const NullableInfo = orNull(ConversationInfo);

export const ConversationList = Type.Object(
  { results: Type.Array(ConversationInfo), next_page_id: orNull(Type.String()) },
  { $id: 'ConversationList', additionalProperties: false },
);
export type ConversationList = Type.Static<typeof ConversationList>;

const filterBytesMax = kib;

export const ListQuery = Type.Object({
  limit: Type.Optional(Type.String({ maxLength: 16, description: `1 to ${listMax}. Default: 20.` })),
  page_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'The next_page_id of the previous page.' }),
  ),
  selected_repository: Type.Optional(text({ bytesMax: filterBytesMax })),
  conversation_trigger: Type.Optional(text({ bytesMax: filterBytesMax })),
  status: Type.Optional(oneOf(conversationStatuses)),
  client_folder: Type.Optional(text({ bytesMax: folderBytesMax })),
  pinned: Type.Optional(flag('Only conversations that are pinned, or only others.')),
  archived: Type.Optional(flag('Only conversations that are archived, or only others. Default: both.')),
  unread: Type.Optional(flag('Only conversations that are unread, or only others.')),
  q: Type.Optional(
    text({
      bytesMax: filterBytesMax,
      description: 'Part of the title or the repository, case-insensitive.',
    }),
  ),
});
export type ListQuery = Type.Static<typeof ListQuery>;

export const ConversationConfig = Type.Object(
  { runtime_id: nullableString(), session_id: Type.String() },
  { $id: 'ConversationConfig', additionalProperties: false },
);

export const VscodeUrl = Type.Object(
  { vscode_url: orNull(Type.String()) },
  { $id: 'VscodeUrl', additionalProperties: false },
);

export const WebHosts = Type.Object(
  { hosts: Type.Record(Type.String(), Type.Integer()) },
  { $id: 'WebHosts', additionalProperties: false },
);
