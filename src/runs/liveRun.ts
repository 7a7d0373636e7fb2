// One run from its worker's point of view: its lease, what it records and receives, and its end.

import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import { crashRun, recordRun, releaseRun } from '../conversations/run/store.ts';
import { stopReason } from '../conversations/states.ts';
import { conversationTopic, userTopic, workTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { eventText, notice } from '../events/shapes.ts';
import { type Clock, timestamp } from '../process/clock.ts';
import type { RunAgent, RunStep } from './claimedRun.ts';
import { asRun } from './currentRun.ts';
import { type EndCause, keepLease, type LeaseTimes } from './lease.ts';
import { createInbox, type Inbox, type UserEvent } from './prompts/inbox.ts';
import { endEvents } from './runEnd.ts';

const recordAgainMs = 200;
/**
 * How many uncaught errors the runs of a conversation may cause before it is stopped. A finished turn resets the count.
 */
const crashesMax = 2;
/** How long a run may take to end after an uncaught error. Killing its processes takes a few seconds at worst. */
const crashEndMs = 20_000;

const crashedOnce = 'An internal error ended this run. A new run continues the conversation.';
const crashedAgain =
  'An internal error ended this run again, so the conversation was stopped. The log of the service has the details. Send a message to resume it.';

export interface LiveRun {
  readonly key: number;
  end(cause: EndCause): void;
  /** Why it was told to end; undefined if it was not. */
  cause(): EndCause | undefined;
  /** Undefined until the run listens. */
  inbox(): Inbox | undefined;
  /** Settles when all processes have ended and the conversation is released. Never rejects. */
  readonly done: Promise<void>;
}

interface LiveRunOptions {
  readonly database: Database;
  readonly runAgent: RunAgent;
  readonly conversation: ClaimedConversation;
  readonly runId: string;
  /** When the claim was sent. */
  readonly since: number;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  /** The previous run of the same conversation in this process, which must have ended first. */
  readonly after: Promise<unknown>;
  /** Called when it begins to listen, because events may have arrived meanwhile. */
  readonly onListen: () => void;
  /** Called when the conversation has become RUNNING, with how long it was STARTING. */
  readonly onRunning?: ((startingMs: number) => void) | undefined;
  readonly onBackgroundError: (error: Error) => void;
}

const databaseCodes: ReadonlySet<string> = new Set(['database_unavailable', 'overloaded', 'outcome_unknown']);

function isDatabaseError(error: unknown): boolean {
  return error instanceof AppError && databaseCodes.has(error.code);
}

export function startRun(options: LiveRunOptions): LiveRun {
  const { database, runAgent, conversation, runId, since, times, clock, onBackgroundError } = options;
  const { key, user_id: userId } = conversation;
  const run = { key, runId };
  const controller = new AbortController();
  const { signal } = controller;
  const end = (cause: EndCause) => controller.abort(cause);
  let inbox: Inbox | undefined;
  let step = 0;
  let crashing: Promise<void> | undefined;

  async function send(record: Parameters<typeof recordRun.steps>[1]): Promise<number | undefined> {
    if (record.isFinal) return signal.reason === 'lost' ? undefined : database.run(recordRun, record);
    while (!signal.aborted) {
      try {
        return await database.run(recordRun, record);
      } catch (error) {
        onBackgroundError(error as Error);
        await clock.pause(recordAgainMs, signal);
      }
    }
    return undefined;
  }

  async function record({ events = [], ...more }: RunStep): Promise<number | undefined> {
    const at = timestamp(clock);
    const first = await send({ ...run, ...more, events, step: ++step, at });
    if (first === undefined) return undefined;
    inbox?.skipOwn(first, events.length);
    if (more.to === 'RUNNING' && conversation.status === 'STARTING')
      options.onRunning?.(Math.max(0, conversation.waited_ms) + clock.steady() - since);
    database.notify([conversationTopic(key), userTopic(userId)]);
    return first;
  }

  async function listen(onEvent: (event: UserEvent) => void): Promise<void> {
    inbox = createInbox({ database, key, from: conversation.heard, onEvent });
    await inbox.readNew(conversation.next_event);
    options.onListen();
  }

  /** Records an uncaught error of the run. Another run continues, unless this happened before. */
  async function recordCrash(): Promise<void> {
    const at = timestamp(clock);
    const goesOn = eventText(notice(crashedOnce), at);
    const reason = stopReason('agent_error', crashedAgain);
    const stopped = endEvents(reason).map((event) => eventText(event, at));
    await database.run(crashRun, { ...run, crashesMax, goesOn, reason, stopped, at });
    database.notify([conversationTopic(key), userTopic(userId)]);
  }

  async function crash(): Promise<void> {
    crashing ??= recordCrash().catch(onBackgroundError);
    end('crash');
    const late = Promise.withResolvers<never>();
    const timer = clock.after(crashEndMs, () => late.reject(new Error('the run did not end in time')));
    await Promise.race([done, late.promise]).finally(timer.stop);
  }

  /** Handles an internal error. If only the database was unavailable, another run starts again. */
  async function fail(error: Error): Promise<void> {
    onBackgroundError(error);
    if (isDatabaseError(error)) return;
    const reason = stopReason('agent_error');
    const at = timestamp(clock);
    const events = endEvents(reason).map((event) => eventText(event, at));
    await record({ to: 'STOPPED', reason, events });
  }

  async function drive(): Promise<void> {
    const lease = keepLease({ database, run, times, clock, since, onEnd: end, onBackgroundError });
    try {
      await options.after;
      if (!signal.aborted)
        await runAgent({ runId, conversation, signal, isHeld: lease.isHeld, record, listen }).catch(fail);
    } finally {
      lease.stop();
      await crashing;
      const at = timestamp(clock);
      await database.run(releaseRun, { ...run, crashed: crashing !== undefined, at });
      database.notify([conversationTopic(key), userTopic(userId), workTopic]);
    }
  }

  const done = asRun({ conversationId: conversation.id, crash }, () => drive().catch(onBackgroundError));
  return { key, end, cause: () => signal.reason, inbox: () => inbox, done };
}
