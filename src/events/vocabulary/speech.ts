// Messages of the user and the agent, and the thoughts and plans of the agent.
import Type from 'typebox';
import { oneOf } from '../../validation/schema.ts';
import { taskStatuses } from '../decoder/words.ts';
import { action, only, PartialEnd } from './fields.ts';

export const MessageAction = action(
  'message',
  {
    content: Type.String(),
    image_urls: Type.Array(Type.String()),
    file_urls: Type.Array(Type.String()),
    wait_for_response: Type.Boolean(),
  },
  { partial: PartialEnd },
  { $id: 'MessageAction', description: 'A message of the user or the agent.' },
);

export const ThinkAction = action(
  'think',
  { thought: Type.String() },
  { partial: PartialEnd },
  { $id: 'ThinkAction', description: 'The agent thinks.' },
);

const Task = Type.Object(
  { id: Type.String(), title: Type.String(), status: oneOf(taskStatuses), notes: Type.String() },
  only,
);

export const TaskTrackingAction = action(
  'task_tracking',
  { command: Type.Literal('plan'), task_list: Type.Array(Task) },
  {},
  { $id: 'TaskTrackingAction', description: "The agent's whole plan, whenever it changes." },
);
