// How often an error that nobody caught was attributed to a run of the conversation.
import type { Migration } from '../migrate.ts';

export const runCrashes: Migration = {
  name: '0010-run-crashes',
  statements: () => ['alter table conversations add column crashes bigint not null default 0'],
};
