// After the faults: everything that was begun must come to its end, within a deadline.
import { setTimeout as wait } from 'node:timers/promises';
import type { TestStorage } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { isSettled } from './checks/runs.ts';
import { hastenDeliveries, readConversations } from './finalState.ts';
import { canaryOf, type FinalConversation } from './history.ts';
import type { Operations, User } from './operations.ts';
import type { Subscriber } from './subscribers.ts';

/** How long conversations may take to come to rest. */
const settleWithinMs = 150_000;
/** Webhook messages may take longer, as long as they become fewer: how many there are depends on the length of the run. */
const fewerWithinMs = 30_000;
const streamsWithinMs = 20_000;
const lookMs = 500;
const hastenEveryMs = 5_000;
const tellEveryMs = 20_000;
/** Stopped conversations of a user that are written to once more. */
const wokenMax = 5;

/** Wakes some conversations that were stopped: whatever was said to them before must now be given to the agent. */
export async function wakeSome(
  operations: Operations,
  storage: TestStorage,
  users: readonly User[],
): Promise<void> {
  const all = await readConversations(storage);
  const stopped = users
    .filter(({ hasAgent }) => hasAgent)
    .flatMap((user) => {
      const own = all.filter((one) => one.user === user.name && one.status === 'STOPPED');
      return own.slice(-wokenMax).map(({ id }) => ({ user, id }));
    });
  const wake = ({ user, id }: { user: User; id: string }, token: string) =>
    operations.perform(
      user,
      { kind: 'message', conversation: id, token, answered: null },
      {
        method: 'POST',
        path: `/api/conversations/${id}/message`,
        json: { message: `work 1 10\n${token} ${canaryOf(user.name)}` },
      },
    );
  await Promise.all(stopped.map((one, i) => wake(one, `token-${one.user.name}-${1_000_000 + i}`)));
}

async function countUnsent(storage: TestStorage): Promise<number> {
  const [row] = await inspect(storage, "select count(*) as count from deliveries where state = 'waiting'");
  return Number(row?.['count']);
}

/** Waits until nothing moves any more. Returns webhook messages that are due too late. */
export async function settle(storage: TestStorage, say: (line: string) => void): Promise<string[]> {
  const endMs = performance.now() + settleWithinMs;
  let late: string[] = [];
  let toldMs = performance.now();
  let hastenedMs = Number.NEGATIVE_INFINITY;
  let fewest = { unsent: Number.POSITIVE_INFINITY, atMs: performance.now() };
  for (;;) {
    if (performance.now() - hastenedMs > hastenEveryMs) {
      late = await hastenDeliveries(storage);
      hastenedMs = performance.now();
    }
    const moving = (await readConversations(storage)).filter((one) => !isSettled(one)).length;
    const unsent = await countUnsent(storage);
    if (moving === 0 && unsent <= late.length) break;
    if (unsent < fewest.unsent) fewest = { unsent, atMs: performance.now() };
    const isOnTheMove = moving === 0 && performance.now() - fewest.atMs < fewerWithinMs;
    if (performance.now() > endMs && !isOnTheMove) break;
    if (performance.now() - toldMs > tellEveryMs) {
      say(`  ${moving} conversations and ${unsent} webhook messages are still on their way`);
      toldMs = performance.now();
    }
    await wait(lookMs);
  }
  return late;
}

/** Gives streams the time to show what is there. */
export async function catchUp(
  subscribers: readonly Subscriber[],
  conversations: readonly FinalConversation[],
): Promise<void> {
  const lengths = new Map(conversations.map(({ user, id, nextEvent }) => [`${user} ${id}`, nextEvent]));
  const endMs = performance.now() + streamsWithinMs;
  const isBehind = (subscriber: Subscriber) => {
    const { user, conversation } = subscriber.view();
    return !subscriber.hasSeen(lengths.get(`${user} ${conversation}`) ?? 0);
  };
  while (performance.now() < endMs && subscribers.some(isBehind)) await wait(lookMs);
  // Streams of changes have no number to wait for.
  await wait(2 * lookMs);
}
