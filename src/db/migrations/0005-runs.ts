// How far a conversation has got with its agent, so that another run can go on where one was lost.
import type { Migration } from './migration.ts';

const columns = [
  'agent_session text',
  'workspace_node text',
  'heard bigint not null default 0',
  'turn_open bigint not null default 0',
  'question bigint',
  'steps bigint not null default 0',
  'claims bigint not null default 0',
];

export const runs: Migration = {
  name: '0005-runs',
  kind: 'expand',
  statements: () => columns.map((column) => `alter table conversations add column ${column}`),
};
