// Stores where the events of the last recorded step begin, so that a step that is sent again returns the same id.
import type { Migration } from './migration.ts';

export const stepEvents: Migration = {
  name: '0013-step-events',
  kind: 'expand',
  statements: () => ['alter table conversations add column step_from bigint'],
};
