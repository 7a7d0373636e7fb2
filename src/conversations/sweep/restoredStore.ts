// Stops everything that was running or waiting when a backup was made. What it did after the backup is unknown, and the
// service that did it may still be alive, so a restored service must not go on by itself.
import { one, type Queries, rows, type Steps } from '../../db/transaction.ts';
import { agentStateChanged, approvalRequestExpired, eventText } from '../../events/shapes.ts';
import type { DeliveryState } from '../../webhooks/schema.ts';
import { closeInterruptedTurn, type ReleasedConversation, releasedColumns } from '../release.ts';
import { noRun, setStatus } from '../row.ts';
import { type StopReason, stopReason } from '../states.ts';

/** How many are found by one query. */
const batchMax = 500;

function* stopOne(q: Queries, key: number, reason: StopReason, at: string): Steps<boolean> {
  const released = (yield* one(
    q.build
      .updateTable('conversations')
      .set(noRun)
      .where('key', '=', key)
      .returning([...releasedColumns]),
  )) as ReleasedConversation;
  yield* closeInterruptedTurn(q, released, at);
  if (released.status === 'STOPPED') return false;
  const events = [
    ...(released.question === null ? [] : [approvalRequestExpired]),
    agentStateChanged('stopped', reason.message),
  ].map((event) => eventText(event, at));
  yield* setStatus(q, released, { to: 'STOPPED', reason, events, at });
  return true;
}

interface Restored {
  /** When the backup was made. */
  readonly backupAt: string;
  readonly at: string;
}

/** Returns how many conversations it has stopped. */
export function* stopRestored(q: Queries, { backupAt, at }: Restored): Steps<number> {
  const reason = stopReason(
    'shutdown',
    `The service was restored from a backup of ${backupAt}. Send a message to resume the conversation.`,
  );
  let stopped = 0;
  for (let after = 0; ; ) {
    const found = yield* rows(
      q.build
        .selectFrom('conversations')
        .select('key')
        .where('key', '>', after)
        .where((e) => e.or([e('status', '<>', 'STOPPED'), e('run_id', 'is not', null)]))
        .orderBy('key')
        .limit(batchMax),
    );
    if (found.length === 0) return stopped;
    for (const { key } of found) {
      if (yield* stopOne(q, key, reason, at)) stopped += 1;
      after = key;
    }
  }
}

/** Pending deliveries count as failed, so that nothing is sent until somebody redelivers them. Returns how many. */
export function* holdDeliveries(q: Queries): Steps<number> {
  const held = yield* rows(
    q.build
      .updateTable('deliveries')
      .set({
        state: 'failed' satisfies DeliveryState,
        since: q.now,
        last_error: 'It was pending when the service was restored from a backup.',
      })
      .where('state', '=', 'waiting' satisfies DeliveryState)
      .returning('id'),
  );
  return held.length;
}
