// A change as subscribers and webhooks receive it.
import Type from 'typebox';
import { agentStates, conversationStatuses, stopCodes } from '../../conversations/states.ts';
import { nullableOneOf, oneOf, orNull, time } from '../../validation/schema.ts';

const marksNote = 'As in the conversation. Absent from changes that an older version has recorded.';

export const Change = Type.Object(
  {
    conversation_id: Type.String(),
    status: nullableOneOf(conversationStatuses, { description: 'Null if the conversation was deleted.' }),
    agent_state: nullableOneOf(agentStates, {
      description: 'The state of the agent. Null unless the conversation is RUNNING.',
    }),
    title: Type.String(),
    stop_reason: orNull(
      Type.Object({ code: oneOf(stopCodes), message: Type.String() }, { additionalProperties: false }),
    ),
    at: time(),
    pinned: Type.Optional(Type.Boolean({ description: marksNote })),
    archived: Type.Optional(Type.Boolean({ description: marksNote })),
    unread: Type.Optional(Type.Boolean({ description: marksNote })),
  },
  { $id: 'Change', additionalProperties: false },
);
export type Change = Type.Static<typeof Change>;
