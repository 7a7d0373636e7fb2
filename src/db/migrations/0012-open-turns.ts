// Which messages belong to a turn whose end was not recorded, and where a session began that has not had a whole turn.
import type { Migration } from '../migrate.ts';

export const openTurns: Migration = {
  name: '0012-open-turns',
  statements: () => [
    'alter table conversations add column turn_from bigint',
    'alter table conversations add column session_from bigint',
    // Until now only the last message of an open turn was known.
    'update conversations set turn_from = heard - 1 where turn_open = 1 and heard > 0',
  ],
};
