// Stores under which URL the processes of a cluster reach each other.
import type { Migration } from './migration.ts';

export const nodes: Migration = {
  name: '0014-nodes',
  kind: 'expand',
  statements: () => [
    'create table nodes (process_id text not null primary key, node_id text not null, url text not null, seen_at bigint not null)',
    'create index nodes_node on nodes (node_id)',
  ],
};
