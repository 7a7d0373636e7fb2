// What a conversation has taken of its model.
import type { Migration } from './migration.ts';

const columns = [
  'model_requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cost_nanos',
];

export const usage: Migration = {
  name: '0006-usage',
  kind: 'expand',
  statements: () =>
    columns.map((column) => `alter table conversations add column ${column} bigint not null default 0`),
};
