// The schemas of all events that Parley writes, from which the types, the OpenAPI document and the tests are derived.
import Type, { type TSchema } from 'typebox';
import { anyFields } from './fields.ts';
import {
  AgentUpdateObservation,
  ErrorObservation,
  NoticeObservation,
  UsageObservation,
  WorkspaceRemovedObservation,
} from './reports.ts';
import { MessageAction, TaskTrackingAction, ThinkAction } from './speech.ts';
import { AgentStateChangedObservation, ChangeAgentStateAction, UserRejectedObservation } from './states.ts';
import {
  BrowseAction,
  BrowseObservation,
  CallToolAction,
  EditAction,
  EditObservation,
  McpObservation,
  ReadAction,
  ReadObservation,
  RunAction,
  RunObservation,
} from './tools.ts';

export const actions = {
  message: MessageAction,
  think: ThinkAction,
  run: RunAction,
  edit: EditAction,
  read: ReadAction,
  browse: BrowseAction,
  call_tool_mcp: CallToolAction,
  task_tracking: TaskTrackingAction,
  change_agent_state: ChangeAgentStateAction,
} as const;

export const observations = {
  agent_state_changed: AgentStateChangedObservation,
  run: RunObservation,
  edit: EditObservation,
  read: ReadObservation,
  browse: BrowseObservation,
  mcp: McpObservation,
  user_rejected: UserRejectedObservation,
  notice: NoticeObservation,
  error: ErrorObservation,
  usage: UsageObservation,
  agent_update: AgentUpdateObservation,
  workspace_removed: WorkspaceRemovedObservation,
} as const;

type AnyAction = Type.Static<(typeof actions)[keyof typeof actions]>;
type AnyObservation = Type.Static<(typeof observations)[keyof typeof observations]>;

/** A schema with an `$id` is a component of the OpenAPI document, which the mapping refers to. */
function mappingOf(schemas: Readonly<Record<string, TSchema>>) {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      `#/components/schemas/${(schema as { $id?: string }).$id}`,
    ]),
  );
}

export const Action = Type.Unsafe<AnyAction>({
  $id: 'Action',
  description: 'Something that the user or the agent does; `action` says what.',
  oneOf: Object.values(actions),
  discriminator: { propertyName: 'action', mapping: mappingOf(actions) },
});
export type Action = Type.Static<typeof Action>;

export const Observation = Type.Unsafe<AnyObservation>({
  $id: 'Observation',
  description: 'Something that happened; `observation` says what.',
  oneOf: Object.values(observations),
  discriminator: { propertyName: 'observation', mapping: mappingOf(observations) },
});
export type Observation = Type.Static<typeof Observation>;

/** Events that other programs or other versions of Parley wrote. */
export const OtherEvent = Type.Object(
  {
    id: Type.Integer({ minimum: 0 }),
    timestamp: Type.String(),
    source: Type.String(),
    message: Type.String(),
    action: Type.Optional(Type.String()),
    args: Type.Optional(anyFields()),
    observation: Type.Optional(Type.String()),
    content: Type.Optional(Type.String()),
    extras: Type.Optional(anyFields()),
    tool_call_id: Type.Optional(Type.String()),
    replayed: Type.Optional(Type.Boolean()),
  },
  {
    $id: 'OtherEvent',
    description: 'An event of another shape: imported with `replay_json`, or written by another version.',
    additionalProperties: true,
  },
);

export const Event = Type.Unsafe<Action | Observation | Type.Static<typeof OtherEvent>>({
  $id: 'Event',
  description: 'An action, an observation, or an event that was imported and may have any shape.',
  anyOf: [Action, Observation, OtherEvent],
});

type WithoutId<Each> = Each extends unknown
  ? Omit<Each, 'id' | 'timestamp' | 'replayed'> & { readonly timestamp?: string }
  : never;

/** An event before the log gives it its id. */
export type NewAction = WithoutId<Action>;
export type NewObservation = WithoutId<Observation>;
export type NewEvent = NewAction | NewObservation;
