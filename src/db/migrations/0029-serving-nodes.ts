// Stores which processes of a cluster answer API requests, so that they can share the limits.
import type { Migration } from './migration.ts';

export const servingNodes: Migration = {
  name: '0029-serving-nodes',
  kind: 'expand',
  // Processes of older versions do not say, and count as serving.
  statements: () => ['alter table nodes add column serves bigint not null default 1'],
};
