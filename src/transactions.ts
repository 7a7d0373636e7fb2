// Every transaction of every store. The SQLite thread loads this list and finds transactions by name.
import { auditTransactions } from './audit/store.ts';
import { conversationTransactions } from './conversations/store.ts';
import { ping, touch } from './db/ping.ts';
import type { AnyTransaction } from './db/transaction.ts';
import { keyTransactions } from './keys/store.ts';
import { secretTransactions } from './secrets/store.ts';
import { settingsTransactions } from './settings/store.ts';
import { userTransactions } from './users/store.ts';

export const transactions: readonly AnyTransaction[] = [
  ping,
  touch,
  ...userTransactions,
  ...keyTransactions,
  ...secretTransactions,
  ...auditTransactions,
  ...settingsTransactions,
  ...conversationTransactions,
];
