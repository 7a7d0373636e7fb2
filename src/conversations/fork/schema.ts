// The request that forks a conversation.
import Type from 'typebox';
import { checked, nullableOneOf, nullableText, orNull, text } from '../../validation/schema.ts';
import { choiceFields } from '../choice/schema.ts';
import { messageBytesMax } from '../create/schema.ts';
import { titleBytesMax, titleFault } from '../lifecycle/schema.ts';

/** The files that a fork starts with. */
export const forkFiles = ['turn', 'latest', 'none'] as const;
export type ForkFiles = (typeof forkFiles)[number];

export const ForkConversation = Type.Object(
  {
    event_id: Type.Optional(
      orNull(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
        description: 'The last event that the new conversation has. Default: the newest one.',
      }),
    ),
    message: Type.Optional(
      nullableText({
        bytesMax: messageBytesMax,
        description: 'A message to the agent, with which the new conversation starts at once.',
      }),
    ),
    title: Type.Optional(orNull(checked(text({ bytesMax: titleBytesMax }), titleFault))),
    files: Type.Optional(
      nullableOneOf(forkFiles, {
        description:
          'The files that it starts with. `turn` (the default): as they were at the end of the turn of that event. `latest`: those of the last snapshot. `none`: a new workspace, such as a fresh clone of the repository.',
      }),
    ),
    ...choiceFields,
  },
  { $id: 'ForkConversation', additionalProperties: false },
);
export type ForkConversation = Type.Static<typeof ForkConversation>;
