// What the user and the agent say, and what the agent thinks and plans.
import Type from 'typebox';
import { oneOf } from '../../validation/schema.ts';
import { taskStatuses } from '../decoder/words.ts';
import { action, only } from './fields.ts';

export const MessageAction = action(
  'message',
  {
    content: Type.String(),
    image_urls: Type.Array(Type.String()),
    file_urls: Type.Array(Type.String()),
    wait_for_response: Type.Boolean(),
  },
  {},
  { $id: 'MessageAction', description: 'The user or the agent says something.' },
);

export const ThinkAction = action(
  'think',
  { thought: Type.String() },
  {},
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
  { $id: 'TaskTrackingAction', description: "The agent's whole plan, each time that it changes." },
);
