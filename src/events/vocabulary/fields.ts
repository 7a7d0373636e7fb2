// The fields of every event, and the builders of the schemas of actions and observations.
import Type, { type TProperties } from 'typebox';
import { oneOf, time } from '../../validation/schema.ts';
import { eventSources } from '../decoder/words.ts';

export const only = { additionalProperties: false };

/** Any JSON object. */
export function anyFields(options: object = {}) {
  return Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true, ...options }));
}

export const ToolCallId = Type.String({
  description: 'The same in the action that begins a tool call and in the observation that ends it.',
});

export const Cause = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'The id of the action that this is the result of. Logs of earlier versions have none.',
  }),
);

/** Links a message or a thought to the partials that were sent while it was written. */
export const PartialEnd = Type.Optional(
  Type.Object(
    {
      of: Type.String({ description: 'The same as in the partials.' }),
      to: Type.Integer({
        minimum: 0,
        description:
          'Readers drop partial text before this position: it is in this event or in earlier ones.',
      }),
    },
    { description: 'The partials that this event replaces.', ...only },
  ),
);

const Replayed = Type.Optional(
  Type.Boolean({ description: 'Whether the event was imported with `replay_json`.' }),
);

const head = {
  id: Type.Integer({ minimum: 0, description: 'Counts from 0 in each conversation, without gaps.' }),
  timestamp: time(),
  source: oneOf(eventSources),
  message: Type.String({ description: 'A short text for people; may be empty.' }),
};

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** The names are those that existing clients read. */
export const LlmMetrics = Type.Object(
  {
    accumulated_cost: Type.Number({ minimum: 0, description: 'US dollars.' }),
    max_budget_per_task: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'The limit in the settings.',
    }),
    accumulated_token_usage: Type.Object(
      {
        prompt_tokens: count('Input tokens, cached ones included.'),
        completion_tokens: count('Output tokens.'),
        cache_read_tokens: count('Input tokens that were read from a cache.'),
        cache_write_tokens: count('Input tokens that were written to a cache.'),
        context_window: count('The context window of the model in tokens; 0 if it is unknown.'),
        per_turn_token: count('Input and output tokens of the latest model request.'),
      },
      only,
    ),
  },
  { $id: 'LlmMetrics', description: 'What the conversation has used of its model so far.', ...only },
);
export type LlmMetrics = Type.Static<typeof LlmMetrics>;

interface Naming {
  /** The name of the schema in the OpenAPI document. */
  readonly $id: string;
  readonly description: string;
}

/** Something that the user or the agent does. */
export function action<const Name extends string, Args extends TProperties, More extends TProperties>(
  name: Name,
  args: Args,
  more: More,
  naming: Naming,
) {
  return Type.Object(
    {
      ...head,
      action: Type.Literal(name),
      args: Type.Object(args, only),
      ...more,
      llm_metrics: Type.Optional(LlmMetrics),
      replayed: Replayed,
    },
    { ...naming, ...only },
  );
}

/** Something that happened, or the result of an action. */
export function observation<const Name extends string, Extras extends TProperties, More extends TProperties>(
  name: Name,
  extras: Extras,
  more: More,
  naming: Naming,
) {
  return Type.Object(
    {
      ...head,
      observation: Type.Literal(name),
      content: Type.String(),
      extras: Type.Object(extras, only),
      ...more,
      replayed: Replayed,
    },
    { ...naming, ...only },
  );
}
