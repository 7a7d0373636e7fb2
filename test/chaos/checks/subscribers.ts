// Streams show each event once and in order, webhooks get each at least once, and nobody gets what is another's.
import { type FinalConversation, type History, ownersIn, type StreamView } from '../history.ts';
import type { Findings } from './violation.ts';

type Logs = ReadonlyMap<string, FinalConversation>;

function checkEventStream(findings: Findings, view: StreamView, logs: Logs): void {
  const { user, conversation = '', frames } = view;
  const log = logs.get(`${user} ${conversation}`);
  if (log === undefined) return;
  const wrong = frames.findIndex(({ id, text }, i) => id !== String(i) || text !== log.events[i]?.text);
  findings.expect(
    wrong < 0,
    'stream-order',
    () =>
      `frame ${wrong} of a stream of ${conversation} of ${user} has id ${frames[wrong]?.id} after ${frames[wrong - 1]?.id}, or differs from the log`,
  );
  findings.expect(
    frames.length >= log.events.length,
    'stream-short',
    () => `a stream of ${conversation} of ${user} ended at ${frames.length} of ${log.events.length} events`,
  );
  for (const _ of frames) findings.expect(true, '', () => '');
}

function checkChangeStream(findings: Findings, view: StreamView, history: History): void {
  const { user, frames } = view;
  const changes = frames.filter(({ event, text }) => event === 'message' && text !== '');
  const ids = new Set(changes.map(({ id }) => id));
  findings.expect(
    ids.size === changes.length,
    'stream-order',
    () => `the changes of ${user} came ${changes.length - ids.size} times more than once`,
  );
  findings.expect(
    frames.every(({ event }) => event === 'message'),
    'stream-reset',
    () => `the stream of changes of ${user} had to begin anew`,
  );
  const last = new Map(
    changes.map(({ text }) => {
      const { conversation_id: id, status } = JSON.parse(text);
      return [String(id), status as string | null];
    }),
  );
  for (const { id, status } of history.conversations.filter((one) => one.user === user))
    findings.expect(
      last.get(id) === status,
      'stream-short',
      () => `the last change of ${id} that ${user} saw is ${last.get(id)}, but it is ${status}`,
    );
}

interface Told {
  readonly ids: Map<string, Set<string>>;
  readonly statuses: Map<string, Set<string | null>>;
}

/** What the receiver of a user was told, by conversation and event. */
function readArrivals(findings: Findings, history: History, user: string): Told {
  const texts = new Map<string, string>();
  const told: Told = { ids: new Map(), statuses: new Map() };
  for (const { id, text } of history.arrivals.filter((arrival) => arrival.user === user)) {
    const before = texts.get(id) ?? text;
    texts.set(id, before);
    findings.expect(
      before === text,
      'webhook-changed',
      () => `the webhook message ${id} came in two versions`,
    );
    const { data } = JSON.parse(text);
    const conversation = String(data.conversation_id);
    if (data.event === undefined) {
      const statuses = told.statuses.get(conversation) ?? new Set();
      told.statuses.set(conversation, statuses.add(data.status));
      continue;
    }
    const event = `${conversation} ${data.event.id}`;
    told.ids.set(event, (told.ids.get(event) ?? new Set()).add(id));
  }
  return told;
}

function checkWebhooks(findings: Findings, history: History, user: string): void {
  const { ids, statuses } = readArrivals(findings, history, user);
  for (const conversation of history.conversations.filter((one) => one.user === user)) {
    for (const event of conversation.events) {
      const messages = ids.get(`${conversation.id} ${event.id}`)?.size ?? 0;
      findings.expect(
        messages > 0,
        'lost-webhook',
        () => `the receiver of ${user} was never told of event ${event.id} of ${conversation.id}`,
      );
      findings.expect(
        messages < 2,
        'doubled-webhook',
        () => `${messages} webhook messages tell ${user} of event ${event.id} of ${conversation.id}`,
      );
    }
    for (const status of ['STARTING', conversation.status])
      findings.expect(
        statuses.get(conversation.id)?.has(status) === true,
        'lost-webhook',
        () => `the receiver of ${user} was never told that ${conversation.id} is ${status}`,
      );
  }
}

function checkOwners(findings: Findings, history: History): void {
  for (const operation of history.operations) {
    const { user, owners } = operation;
    findings.expect(
      owners.every((owner) => owner === user) && !(operation.kind === 'peek' && operation.found),
      'foreign-data',
      () => `an answer to ${user} held data of ${owners.join(', ') || 'another user'}`,
      [operation],
    );
  }
  const others = [
    ...history.arrivals.map(({ user, text }) => ({ user, text, where: 'a webhook message' })),
    ...history.streams.flatMap(({ user, frames }) =>
      frames.map(({ text }) => ({ user, text, where: 'a stream' })),
    ),
    ...history.conversations.flatMap(({ user, events }) =>
      events.map(({ text }) => ({ user, text, where: 'a log' })),
    ),
  ];
  for (const { user, text, where } of others) {
    const owners = ownersIn(text);
    findings.expect(
      owners.every((owner) => owner === user),
      'foreign-data',
      () => `${where} of ${user} held data of ${owners.join(', ')}`,
    );
  }
}

export function checkSubscribers(findings: Findings, history: History): void {
  const logs = new Map(history.conversations.map((one) => [`${one.user} ${one.id}`, one]));
  for (const view of history.streams)
    if (view.conversation === undefined) checkChangeStream(findings, view, history);
    else checkEventStream(findings, view, logs);
  for (const { name } of history.users) checkWebhooks(findings, history, name);
  for (const delivery of history.overdueDeliveries) findings.expect(false, 'late-webhook', () => delivery);
  checkOwners(findings, history);
}
