// Every transaction of every store. The SQLite thread loads this list and finds transactions by name.
import { accountChangeTransactions } from './accounts/changeStore.ts';
import { liveTransactions } from './accounts/liveStore.ts';
import { purgeTransactions } from './accounts/purgeStore.ts';
import { accountTransactions } from './accounts/store.ts';
import { auditTransactions } from './audit/store.ts';
import { backupTransactions } from './backups/store.ts';
import { budgetTransactions } from './budgets/store.ts';
import { cancelTransactions } from './conversations/cancel/store.ts';
import { choiceTransactions } from './conversations/choice/store.ts';
import { commandTransactions } from './conversations/commands/store.ts';
import { confirmationTransactions } from './conversations/confirm/store.ts';
import { conversationTransactions } from './conversations/create/store.ts';
import { feedbackTransactions } from './conversations/feedback/store.ts';
import { forkTransactions } from './conversations/fork/store.ts';
import { idempotencyTransactions } from './conversations/idempotency/store.ts';
import { importTransactions } from './conversations/import/store.ts';
import { lifecycleTransactions } from './conversations/lifecycle/store.ts';
import { listingTransactions } from './conversations/list/store.ts';
import { backlogTransactions } from './conversations/run/backlogStore.ts';
import { claimTransactions } from './conversations/run/claimStore.ts';
import { runtimeTransactions } from './conversations/run/store.ts';
import { claimTransactions as searchClaimTransactions } from './conversations/search/claimStore.ts';
import { findTransactions } from './conversations/search/findStore.ts';
import { indexTransactions } from './conversations/search/indexStore.ts';
import { clockTransactions } from './conversations/sweep/clockStore.ts';
import { reservationTransactions } from './conversations/sweep/reservationStore.ts';
import { roomTransactions } from './conversations/sweep/roomStore.ts';
import { sweepTransactions } from './conversations/sweep/store.ts';
import { traceTransactions } from './conversations/trace/store.ts';
import { usageTransactions } from './conversations/usage/store.ts';
import type { AnyTransaction } from './db/transaction.ts';
import { tryWrite } from './db/writability.ts';
import { secretTransactions } from './encryption/store.ts';
import { changeTransactions } from './events/changes/store.ts';
import { eventTransactions } from './events/store.ts';
import { sessionTransactions } from './keys/sessionStore.ts';
import { keyTransactions } from './keys/store.ts';
import { nodeTransactions } from './nodes/store.ts';
import { settingsTransactions } from './settings/store.ts';
import { signInTransactions } from './signIn/store.ts';
import { userTransactions } from './users/store.ts';
import { deliveryTransactions } from './webhooks/deliveryStore.ts';
import { outboxAgeTransactions } from './webhooks/outboxAge.ts';
import { outboxTransactions } from './webhooks/outboxStore.ts';
import { webhookTransactions } from './webhooks/store.ts';
import { workspaceTransactions } from './workspaces/prepare/store.ts';
import { snapshotTransactions } from './workspaces/snapshots/store.ts';
import { uploadTransactions } from './workspaces/write/store.ts';

export const transactions: readonly AnyTransaction[] = [
  tryWrite,
  ...userTransactions,
  ...accountTransactions,
  ...accountChangeTransactions,
  ...liveTransactions,
  ...purgeTransactions,
  ...keyTransactions,
  ...sessionTransactions,
  ...signInTransactions,
  ...budgetTransactions,
  ...secretTransactions,
  ...auditTransactions,
  ...settingsTransactions,
  ...conversationTransactions,
  ...idempotencyTransactions,
  ...lifecycleTransactions,
  ...searchClaimTransactions,
  ...findTransactions,
  ...indexTransactions,
  ...cancelTransactions,
  ...choiceTransactions,
  ...importTransactions,
  ...forkTransactions,
  ...confirmationTransactions,
  ...commandTransactions,
  ...usageTransactions,
  ...traceTransactions,
  ...feedbackTransactions,
  ...listingTransactions,
  ...eventTransactions,
  ...changeTransactions,
  ...sweepTransactions,
  ...roomTransactions,
  ...reservationTransactions,
  ...clockTransactions,
  ...claimTransactions,
  ...backlogTransactions,
  ...runtimeTransactions,
  ...workspaceTransactions,
  ...uploadTransactions,
  ...snapshotTransactions,
  ...nodeTransactions,
  ...webhookTransactions,
  ...deliveryTransactions,
  ...outboxTransactions,
  ...outboxAgeTransactions,
  ...backupTransactions,
];
