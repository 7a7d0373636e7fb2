// Feedback about a conversation. It is stored here and sent nowhere.
import Type from 'typebox';
import { kib, oneOf, text } from '../../validation/schema.ts';

const polarities = ['positive', 'negative'] as const;
export const commentBytesMax = 4 * kib;
export const shortBytesMax = 320;

export const NewFeedback = Type.Object(
  {
    polarity: oneOf(polarities),
    comment: Type.Optional(text({ bytesMax: commentBytesMax })),
    email: Type.Optional(text({ bytesMax: shortBytesMax, description: 'For questions about the feedback.' })),
    version: Type.Optional(text({ bytesMax: shortBytesMax, description: 'The version of the client.' })),
    permissions: Type.Optional(
      oneOf(['private', 'public'], {
        description: 'Whether the sender agrees to publish it. Default: private.',
      }),
    ),
  },
  { $id: 'NewFeedback', additionalProperties: false },
);
export type NewFeedback = Type.Static<typeof NewFeedback>;

export const FeedbackRecord = Type.Object(
  {
    id: Type.String(),
    conversation_id: Type.String(),
    polarity: oneOf(polarities),
    comment: Type.String(),
    email: Type.String(),
    version: Type.String(),
    permissions: oneOf(['private', 'public']),
    created_at: Type.String(),
  },
  { $id: 'FeedbackRecord', additionalProperties: false },
);
export type FeedbackRecord = Type.Static<typeof FeedbackRecord>;

export const FeedbackList = Type.Object(
  { results: Type.Array(FeedbackRecord) },
  { $id: 'FeedbackList', additionalProperties: false },
);
export type FeedbackList = Type.Static<typeof FeedbackList>;
