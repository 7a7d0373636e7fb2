// Stores the trace of the last request that gave a conversation work, so that its run continues the trace in any process.
import type { Migration } from './migration.ts';

export const trace: Migration = {
  name: '0030-trace',
  kind: 'expand',
  statements: () => ['alter table conversations add column traceparent text'],
};
