// Decides who may send next. Slots are few, and a receiver that hangs keeps its slot until the timeout, so they are
// shared among users first: dead receivers of one user do not block others.
import type { DueWebhook } from './outboxStore.ts';

/** Concurrent deliveries of this process. */
export const atOnceMax = 16;
const perUserMax = 8;
const perWebhookMax = 4;

interface InProgress {
  readonly webhook_id: string;
  readonly user_id: number;
}

/**
 * How many deliveries of which webhooks to send now. Each free slot goes to the user with the fewest deliveries in
 * progress, then to the webhook with the fewest, then to the first in the list. Deleted webhooks get none.
 */
export function shareSlots(
  due: readonly DueWebhook[],
  underWay: readonly InProgress[],
): { id: string; max: number }[] {
  const ofUser = new Map<number, number>();
  const ofWebhook = new Map<string, number>();
  for (const { user_id, webhook_id } of underWay) {
    add(ofUser, user_id);
    add(ofWebhook, webhook_id);
  }
  const given = new Map<string, number>();
  for (let free = atOnceMax - underWay.length; free > 0; free--) {
    const [next] = due
      .flatMap(({ webhook_id: id, user_id: user }) =>
        user === null ? [] : [{ id, user, users: ofUser.get(user) ?? 0, webhooks: ofWebhook.get(id) ?? 0 }],
      )
      .filter(({ users, webhooks }) => users < perUserMax && webhooks < perWebhookMax)
      .sort((a, b) => a.users - b.users || a.webhooks - b.webhooks);
    if (next === undefined) break;
    add(ofUser, next.user);
    add(ofWebhook, next.id);
    add(given, next.id);
  }
  return [...given].map(([id, max]) => ({ id, max }));
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
