// Stores where an unfinished turn began, and where a session began that has not completed a turn yet.
import type { Migration } from './migration.ts';

export const openTurns: Migration = {
  name: '0012-open-turns',
  kind: 'contract',
  statements: () => [
    'alter table conversations add column turn_from bigint',
    'alter table conversations add column session_from bigint',
    // Older rows only tell the last message of an open turn.
    'update conversations set turn_from = heard - 1 where turn_open = 1 and heard > 0',
  ],
};
