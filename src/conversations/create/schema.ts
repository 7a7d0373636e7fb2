// The request that creates a conversation, and its response of exactly four fields.
import Type from 'typebox';
import { gitProviders } from '../../git/providers.ts';
import { NullableMcpConfig } from '../../mcp/schema.ts';
import {
  bodyBytesMax,
  checked,
  kib,
  mib,
  nullableOneOf,
  nullableText,
  oneOf,
  orNull,
  text,
} from '../../validation/schema.ts';
import { choiceFields } from '../choice/schema.ts';
import { ConversationId } from '../id.ts';
import { type ConversationStatus, conversationStatuses } from '../states.ts';
import { imageKind } from './images.ts';

const imageUrlsMax = 100;
const imageLinkBytesMax = 4 * kib;
export const messageBytesMax = 256 * kib;
export const replayBytesMax = 8 * mib;
const shortBytesMax = kib;
export const folderBytesMax = 4 * kib;
export const patchBytesMax = 8 * mib;
/** The length of that many bytes as Base64. */
const patchCharsMax = 4 * Math.ceil(patchBytesMax / 3);

export const taskTypes = [
  'MERGE_CONFLICTS',
  'FAILING_CHECKS',
  'UNRESOLVED_COMMENTS',
  'OPEN_ISSUE',
  'OPEN_PR',
  'CREATE_MICROAGENT',
] as const;
export type TaskType = (typeof taskTypes)[number];

function imageUrlFault(value: string): string | undefined {
  const isLong = value.length > imageLinkBytesMax || Buffer.byteLength(value) > imageLinkBytesMax;
  if (isLong && !/^data:/i.test(value)) return `must be at most ${imageLinkBytesMax} bytes`;
  return imageKind(value) === 'refused'
    ? 'must be an http or https URL, or a data URL of an image'
    : undefined;
}

export const SuggestedTask = Type.Object(
  {
    git_provider: oneOf(gitProviders),
    task_type: oneOf(taskTypes),
    repo: text({ bytesMax: shortBytesMax, lengthMin: 1 }),
    issue_number: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    title: text({ bytesMax: shortBytesMax }),
  },
  { $id: 'SuggestedTask', additionalProperties: false },
);
export type SuggestedTask = Type.Static<typeof SuggestedTask>;

export const CreateMicroagent = Type.Object(
  {
    repo: text({ bytesMax: shortBytesMax, lengthMin: 1 }),
    git_provider: Type.Optional(nullableOneOf(gitProviders)),
    title: Type.Optional(nullableText({ bytesMax: shortBytesMax })),
  },
  { $id: 'CreateMicroagent', additionalProperties: false },
);
export type CreateMicroagent = Type.Static<typeof CreateMicroagent>;

export const WorkspacePatch = Type.Object(
  {
    base_commit: Type.Optional(
      nullableText({
        bytesMax: 40,
        pattern: '^[0-9a-f]{40}$',
        patternText: 'be the full hash of a commit',
        description:
          'The commit that the patch is against. The repository must have it. Without it, the patch is applied to the selected branch, or to an empty workspace.',
      }),
    ),
    patch: text({
      bytesMax: patchCharsMax,
      pattern: '^[A-Za-z0-9+/]*={0,2}$',
      patternText: 'be Base64',
      description: `A patch as \`git diff --binary\` writes it, in Base64; at most ${patchBytesMax / mib} MiB before encoding. It may be empty.`,
    }),
  },
  { $id: 'WorkspacePatch', additionalProperties: false },
);
export type WorkspacePatch = Type.Static<typeof WorkspacePatch>;

export const NullableImageUrls = orNull(
  Type.Array(checked(text({ bytesMax: bodyBytesMax }), imageUrlFault), { maxItems: imageUrlsMax }),
  {
    description:
      'http or https URLs, or data URLs of images; other schemes are rejected. Other strings are kept in the events and not sent to the agent.',
  },
);

export const CreateConversation = Type.Object(
  {
    repository: Type.Optional(
      nullableText({ bytesMax: shortBytesMax, description: 'For example, owner/name.' }),
    ),
    git_provider: Type.Optional(nullableOneOf(gitProviders)),
    selected_branch: Type.Optional(nullableText({ bytesMax: shortBytesMax })),
    initial_user_msg: Type.Optional(
      nullableText({ bytesMax: messageBytesMax, description: 'The first message to the agent.' }),
    ),
    image_urls: Type.Optional(NullableImageUrls),
    replay_json: Type.Optional(
      nullableText({
        bytesMax: replayBytesMax,
        description:
          'Events with which the conversation starts: a JSON list, or an object with a list as `trajectory` or `events`. An empty string, list or object means none.',
      }),
    ),
    suggested_task: Type.Optional(
      orNull(SuggestedTask, {
        description: 'Its prompt becomes the first message. It takes precedence over create_microagent.',
      }),
    ),
    create_microagent: Type.Optional(
      orNull(CreateMicroagent, {
        description: 'Creates a microagent in a repository. Only repo is required.',
      }),
    ),
    conversation_instructions: Type.Optional(
      nullableText({
        bytesMax: messageBytesMax,
        description: 'Custom instructions for the whole conversation.',
      }),
    ),
    mcp_config: Type.Optional(NullableMcpConfig),
    conversation_id: Type.Optional(ConversationId),
    ...choiceFields,
    local_folder: Type.Optional(
      nullableText({
        bytesMax: folderBytesMax,
        description:
          'The real path of a folder on the machine of the service, in which the agent works directly. The operator must allow it with PARLEY_LOCAL_FOLDERS.',
      }),
    ),
    client_folder: Type.Optional(
      nullableText({
        bytesMax: folderBytesMax,
        description:
          'The folder on your machine that the workspace corresponds to. Editors find the conversation by it; the service does not read it.',
      }),
    ),
    workspace_patch: Type.Optional(
      orNull(WorkspacePatch, {
        description:
          'Changes that the workspace starts with, such as the uncommitted ones of a local folder. If they cannot be applied, the conversation stops before its agent starts.',
      }),
    ),
  },
  { $id: 'CreateConversation', additionalProperties: false },
);
export type CreateConversation = Type.Static<typeof CreateConversation>;

export const ConversationResponse = Type.Object(
  {
    status: Type.Unsafe<'ok'>({ type: 'string', enum: ['ok'] }),
    conversation_id: Type.String(),
    message: orNull(Type.String(), { description: 'A notice, such as why the conversation waits.' }),
    conversation_status: nullableOneOf(conversationStatuses),
  },
  { $id: 'ConversationResponse', additionalProperties: false },
);
export type ConversationResponse = Type.Static<typeof ConversationResponse>;

/** `message` is a note for the caller, in one sentence. */
export function answerStatus(
  id: string,
  status: ConversationStatus,
  message: string | null = null,
): ConversationResponse {
  return { status: 'ok', conversation_id: id, message, conversation_status: status };
}
