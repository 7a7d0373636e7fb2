// Requests that change, start, stop or send messages to a conversation.
import Type from 'typebox';
import { checked, kib, oneOf, orNull, text } from '../../validation/schema.ts';
import { choiceFields } from '../choice/schema.ts';
import { messageBytesMax, NullableImageUrls } from '../create/schema.ts';

const titleCharsMax = 200;
export const titleBytesMax = 4 * kib;

export function titleFault(value: string): string | undefined {
  const chars = Array.from(value.trim()).length;
  return chars >= 1 && chars <= titleCharsMax
    ? undefined
    : `must be 1 to ${titleCharsMax} characters, not counting spaces around it`;
}

export const ChangeConversation = Type.Object(
  {
    title: Type.Optional(checked(text({ bytesMax: titleBytesMax }), titleFault)),
    ...choiceFields,
    pinned: Type.Optional(Type.Boolean()),
    archived: Type.Optional(Type.Boolean()),
    seen_event_id: Type.Optional(
      orNull(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
        description:
          'The last event that you have seen. A smaller id than the stored one changes nothing; null marks the conversation as unread.',
      }),
    ),
  },
  { $id: 'ChangeConversation', additionalProperties: false, minProperties: 1 },
);
export type ChangeConversation = Type.Static<typeof ChangeConversation>;

/** Older clients send their providers, which has no effect. */
export const StartConversation = Type.Object(
  { providers_set: Type.Optional(orNull(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 }))) },
  { $id: 'StartConversation', additionalProperties: false },
);

const FileUrls = orNull(
  Type.Array(text({ bytesMax: 4 * kib }), {
    maxItems: 100,
    description: 'Paths of uploaded files, which the agent is told.',
  }),
);

export const NewMessage = Type.Object(
  {
    message: text({ bytesMax: messageBytesMax, description: 'The message to the agent.' }),
    image_urls: Type.Optional(NullableImageUrls),
    file_urls: Type.Optional(FileUrls),
  },
  { $id: 'NewMessage', additionalProperties: false },
);
export type NewMessage = Type.Static<typeof NewMessage>;

export const SentMessage = Type.Object(
  {
    success: Type.Boolean(),
    event_id: Type.Integer({ minimum: 0, description: 'The id of the message in the event log.' }),
  },
  { $id: 'SentMessage', additionalProperties: false },
);
export type SentMessage = Type.Static<typeof SentMessage>;

/** States that a caller can request. */
const wantedStates = ['stopped', 'paused', 'running', 'user_confirmed', 'user_rejected'] as const;

export const MessageArgs = Type.Object(
  {
    content: text({ bytesMax: messageBytesMax }),
    image_urls: Type.Optional(NullableImageUrls),
    file_urls: Type.Optional(FileUrls),
    timestamp: Type.Optional(text({ bytesMax: 64 })),
    wait_for_response: Type.Optional(Type.Boolean()),
  },
  // Older clients send more, which has no effect.
  { additionalProperties: true },
);
export type MessageArgs = Type.Static<typeof MessageArgs>;

export const StateArgs = Type.Object({ agent_state: oneOf(wantedStates) }, { additionalProperties: true });
export type StateArgs = Type.Static<typeof StateArgs>;

export const CommandArgs = Type.Object(
  { command: text({ bytesMax: 16 * kib, lengthMin: 1 }) },
  { additionalProperties: true },
);
export type CommandArgs = Type.Static<typeof CommandArgs>;

/** Older clients send more fields, which have no effect. */
export const UserAction = Type.Object(
  {
    action: oneOf(['message', 'change_agent_state', 'run']),
    args: Type.Object({}, { additionalProperties: true, description: 'The arguments of the action.' }),
  },
  { $id: 'UserAction', additionalProperties: true },
);
export type UserAction = Type.Static<typeof UserAction>;

export const Success = Type.Object(
  { success: Type.Boolean() },
  { $id: 'Success', additionalProperties: false },
);
