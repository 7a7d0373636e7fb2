// Repeats in the store alone what the service does for the measured creation.
import { hash, randomBytes } from 'node:crypto';
import type { NewConversation } from '../src/conversations/create/newConversation.ts';
import {
  fingerprintText,
  firstEvents,
  firstMessage,
  normaliseRequest,
  subjectOf,
  titleOf,
} from '../src/conversations/create/request.ts';
import { createConversation } from '../src/conversations/create/store.ts';
import type { Database } from '../src/db/transaction.ts';
import { eventText } from '../src/events/shapes.ts';
import { createIds } from '../src/process/ids.ts';
import { ensureUser } from '../src/users/store.ts';
import { createBody } from './requests.ts';

export type Make = () => NewConversation;

export interface Makers {
  /** With an id by the service, which sorts by time. */
  readonly timeOrdered: Make;
  /** With a random id by the client. */
  readonly random: Make;
}

export async function createMakers(database: Database): Promise<Makers> {
  const user = await database.run(ensureUser, 'owner');
  const request = normaliseRequest(createBody);
  const message = firstMessage(request);
  const nextId = createIds();
  const at = new Date().toISOString();
  const make = (id: string): NewConversation => ({
    userId: user.id,
    id,
    fingerprint: hash('sha256', fingerprintText(request, undefined), 'base64url'),
    title: titleOf(message, id),
    ...subjectOf(request, false),
    agent: null,
    llmModel: null,
    confirmationMode: null,
    clientFolder: null,
    patch: null,
    request: JSON.stringify(request),
    sealed: null,
    events: firstEvents(message, request, undefined).map((event) => eventText(event, at)),
    replayed: 0,
    said: 1,
    at,
    idempotency: null,
    traceparent: null,
    waitingMax: 0,
  });
  const model = make(nextId());
  return {
    timeOrdered: () => ({ ...model, id: nextId() }),
    random: () => ({ ...model, id: randomBytes(16).toString('hex') }),
  };
}

export interface Pace {
  readonly inFlight: number;
  /** Called before each creation with the number of those that have begun. */
  readonly more: (begun: number) => boolean;
}

/** Creates durably with limited concurrency until it should stop. Returns creations per second. */
export async function createMany(database: Database, make: Make, { inFlight, more }: Pace): Promise<number> {
  let begun = 0;
  const begin = performance.now();
  async function repeat(): Promise<void> {
    while (more(begun)) {
      begun += 1;
      const { outcome } = await database.run(createConversation, make());
      if (outcome !== 'created') throw new Error(`a creation was answered with ${outcome}`);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, repeat));
  return (begun * 1_000) / (performance.now() - begin);
}
