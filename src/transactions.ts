// Every transaction of every store. The SQLite thread loads this list and finds transactions by name.
import { auditTransactions } from './audit/store.ts';
import { changeTransactions } from './changes/store.ts';
import { confirmationTransactions } from './confirmations/store.ts';
import { conversationTransactions } from './conversations/store.ts';
import { waitingTransactions } from './conversations/waitingStore.ts';
import type { AnyTransaction } from './db/transaction.ts';
import { tryWrite } from './db/writability.ts';
import { eventTransactions } from './events/store.ts';
import { keyTransactions } from './keys/store.ts';
import { lifecycleTransactions } from './lifecycle/store.ts';
import { listingTransactions } from './listing/store.ts';
import { claimTransactions } from './runtime/claimStore.ts';
import { runtimeTransactions } from './runtime/store.ts';
import { workspaceTransactions } from './runtime/workspace/store.ts';
import { secretTransactions } from './secrets/store.ts';
import { settingsTransactions } from './settings/store.ts';
import { clockTransactions } from './sweep/clockStore.ts';
import { sweepTransactions } from './sweep/store.ts';
import { usageTransactions } from './usage/store.ts';
import { userTransactions } from './users/store.ts';
import { deliveryTransactions } from './webhooks/deliveryStore.ts';
import { outboxTransactions } from './webhooks/outboxStore.ts';
import { webhookTransactions } from './webhooks/store.ts';

export const transactions: readonly AnyTransaction[] = [
  tryWrite,
  ...userTransactions,
  ...keyTransactions,
  ...secretTransactions,
  ...auditTransactions,
  ...settingsTransactions,
  ...conversationTransactions,
  ...waitingTransactions,
  ...lifecycleTransactions,
  ...confirmationTransactions,
  ...usageTransactions,
  ...listingTransactions,
  ...eventTransactions,
  ...changeTransactions,
  ...sweepTransactions,
  ...clockTransactions,
  ...claimTransactions,
  ...runtimeTransactions,
  ...workspaceTransactions,
  ...webhookTransactions,
  ...deliveryTransactions,
  ...outboxTransactions,
];
