// How a caller answers an approval request of an agent.
import Type from 'typebox';
import { decisions } from '../../events/decoder/words.ts';
import { oneOf } from '../../validation/schema.ts';

export const Confirmation = Type.Object(
  {
    decision: oneOf(decisions),
    question: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The id of the event that asks. If absent, the open approval request is answered.',
      }),
    ),
  },
  { $id: 'Confirmation', additionalProperties: false },
);
export type Confirmation = Type.Static<typeof Confirmation>;
