// Notifications between processes on one PostgreSQL, by LISTEN and NOTIFY. They carry no data, and a lost one only
// costs time until the next poll.
import { randomBytes } from 'node:crypto';
import { endWithin, type GuardedClient } from './postgresClient.ts';

const channel = 'parley';
/** PostgreSQL refuses more than 8,000. */
const payloadBytesMax = 7_000;
/** Notifications within this time are sent together. */
const gatherMs = 5;
/** How many topics may wait to be sent. Changes of others are found by polling. */
const topicsMax = 10_000;
const retryMs = 1_000;

interface PostgresNotifications {
  notify(topics: readonly string[]): void;
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

  function send(): void {
    gather = undefined;
    const topics = [...outgoing];
    outgoing.clear();
    for (const payload of payloads(topics))
      query('select pg_notify($1, $2)', [channel, payload]).catch(() => {});
  }

  listen();
  return {
    notify: (topics) => {
      for (const topic of topics) if (outgoing.size < topicsMax) outgoing.add(topic);
      gather ??= setTimeout(send, gatherMs).unref();
    },
    close: async () => {
      closed = true;
      clearTimeout(gather);
      clearTimeout(retry);
      if (client !== undefined) await endWithin(client.end(), [client]);
    },
  };
}
