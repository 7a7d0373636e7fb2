// Notifications between processes on one PostgreSQL, by LISTEN and NOTIFY. They carry no data, and a lost one only
// costs time until the next poll.
import { randomBytes } from 'node:crypto';
import { endWithin, type GuardedClient } from './postgresClient.ts';

const channel = 'parley';
/** PostgreSQL refuses more than 8,000. */
const payloadBytesMax = 7_000;
/** Notifications within this time are sent together. */
const gatherMs = 2;
/**
 * The least time between two of them. Each is a transaction with a commit of its own, and those of all processes wait
 * for each other, so that their number must not grow with the load.
 */
const pauseMs = 20;
/** How many topics may wait to be sent. Changes of others are found by polling. */
const topicsMax = 10_000;
const retryMs = 1_000;

interface PostgresNotifications {
  notify(topics: readonly string[]): void;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

interface NotificationsOptions {
  /** Creates a client without connecting it. */
  readonly createClient: () => GuardedClient;
  /** Runs a query on the pool. */
  readonly query: (text: string, values: unknown[]) => Promise<unknown>;
  /** Called with the topics of another process. */
  readonly onNotification: (topics: readonly string[]) => void;
  /** Called when notifications may have been missed. */
  readonly onMissed: () => void;
}

export function openPostgresNotifications({
  createClient,
  query,
  onNotification,
  onMissed,
}: NotificationsOptions): PostgresNotifications {
  const self = randomBytes(6).toString('hex');
  const outgoing = new Set<string>();
  let client: GuardedClient | undefined;
  let gather: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let sentAt = -pauseMs;
  let closed = false;

  function listen(): void {
    const fresh = createClient();
    client = fresh;
    let lost = false;
    const lose = () => {
      if (lost) return;
      lost = true;
      void endWithin(fresh.end(), [fresh]);
      if (!closed) retry = setTimeout(listen, retryMs).unref();
    };
    fresh.on('error', lose);
    fresh.on('end', lose);
    fresh.on('notification', ({ payload = '' }) => {
      const [from, ...topics] = payload.split(',');
      if (from !== self) onNotification(topics);
    });
    fresh
      .connect()
      .then(() => fresh.query(`listen ${channel}`))
      .then(onMissed, lose);
  }

  function* payloads(topics: readonly string[]): Generator<string> {
    let payload = self;
    for (const topic of topics) {
      if (payload.length + topic.length >= payloadBytesMax) {
        yield payload;
        payload = self;
      }
      payload += `,${topic}`;
    }
    yield payload;
  }

  async function send(): Promise<void> {
    clearTimeout(gather);
    gather = undefined;
    sentAt = performance.now();
    const topics = [...outgoing];
    outgoing.clear();
    const sent = [...payloads(topics)].map((payload) =>
      query('select pg_notify($1, $2)', [channel, payload]).catch(() => {}),
    );
    await Promise.all(sent);
  }

  listen();
  return {
    notify: (topics) => {
      for (const topic of topics) if (outgoing.size < topicsMax) outgoing.add(topic);
      const waitMs = Math.max(gatherMs, sentAt + pauseMs - performance.now());
      gather ??= setTimeout(() => void send(), waitMs).unref();
    },
    close: async () => {
      closed = true;
      clearTimeout(retry);
      if (gather !== undefined) await send();
      if (client !== undefined) await endWithin(client.end(), [client]);
    },
  };
}
