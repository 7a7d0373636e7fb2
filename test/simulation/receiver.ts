// The receiver of webhooks. It is slow and refuses now and then, and remembers what it got.
import { ownerOf } from '../../src/encryption/store.ts';
import type { Vault } from '../../src/encryption/vault.ts';
import type { Principal } from '../../src/keys/principal.ts';
import { OutgoingError } from '../../src/outgoing/errors.ts';
import type { OutgoingFetch } from '../../src/outgoing/fetch.ts';
import { createWebhook } from '../../src/webhooks/store.ts';
import type { DemandedDelivery } from './checker.ts';
import type { Store } from './store.ts';
import { type Actor, Violation, type World } from './world.ts';

/** How long a process that sends a delivery may be sure that no other does: half of its lease. */
const aloneMs = 20_000;
const timeoutMs = 15_000;

interface ReceiverOptions {
  readonly world: World;
  readonly store: Store;
  /** The probability that a request fails. */
  readonly fails: () => number;
}

export interface Receiver {
  /** The network of one process. */
  fetchOf(process: Actor): OutgoingFetch;
  /** Whether no delivery is pending. */
  isDone(): boolean;
  /** Throws unless every delivery has arrived whose conversation still exists. */
  check(demanded: readonly DemandedDelivery[]): void;
}

/** Gives each user a webhook that subscribes to everything. */
export function createWebhooks(store: Store, vault: Vault, users: readonly Principal[]): void {
  const events = JSON.stringify(['conversation.status', 'conversation.event', 'conversation.waiting']);
  for (const { userId } of users) {
    const id = `hook${userId}`;
    const sealed = vault.encrypt('secret', ownerOf({ table: 'webhooks', userId, name: [id] }));
    const url = 'https://receiver.test/';
    store.run(createWebhook, {
      id,
      userId,
      url,
      events,
      sealed,
      description: null,
      format: 'parley',
      by: 'test',
    });
  }
}

export function createReceiver({ world, store, fails }: ReceiverOptions): Receiver {
  const random = world.random.fork('receiver');
  const received = new Set<string>();
  const underWay = new Map<string, { readonly by: string; readonly since: number }>();

  function begin(id: string, by: string): void {
    const other = underWay.get(id);
    // Recorded, not thrown: the code that sends would handle the error.
    if (other !== undefined && other.by !== by && world.now() - other.since < aloneMs)
      world.fail(new Violation('doubled-delivery', `${by} and ${other.by} send a delivery at the same time`));
    underWay.set(id, { by, since: world.now() });
  }

  return {
    fetchOf: (process) => (_, init) =>
      new Promise((resolve, reject) => {
        const id = new Headers(init?.headers as Record<string, string>).get('webhook-id') ?? '';
        begin(id, process.name);
        const isRefused = random.chance(fails());
        const isLost = random.chance(fails());
        const ms = isLost ? timeoutMs : random.between(1, 400);
        if (!isRefused) received.add(id);
        world.after(ms, process, () => {
          underWay.delete(id);
          if (isLost) reject(new OutgoingError('timeout', 'It did not respond.'));
          else resolve({ status: isRefused ? 503 : 204, body: null } as Response);
        });
      }),
    isDone: () => store.select("select 1 from deliveries where state = 'waiting' limit 1").length === 0,
    check: (demanded) => {
      for (const { id, type, eventId, lifetime } of demanded)
        if (!received.has(id) && (eventId === null || !lifetime?.isDeleted))
          throw new Violation(
            'lost-delivery',
            `${type} of event ${eventId} of ${lifetime?.key} did not arrive`,
          );
    },
  };
}
