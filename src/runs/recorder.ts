// Records what a run does: events go to the log in order, masked, several in one commit, and never faster than the
// database takes them.

import type { RunProgress } from '../conversations/run/records.ts';
import { eventText } from '../events/shapes.ts';
import type { LlmMetrics } from '../events/vocabulary/fields.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { type Clock, systemClock, type Timer, timestamp } from '../process/clock.ts';
import { createCauses, type Entry } from './causes.ts';
import type { ClaimedRun, RunStep } from './claimedRun.ts';
import type { Masking } from './masking.ts';
import type { RunFaults } from './runFaults.ts';

/** How long events wait for others, to share a commit. */
const gatherMs = 50;
/** A batch with more events makes the agent wait. */
const batchEventsMax = 500;
const stepEventsMax = 100;

/** A step of a run whose events are not serialized yet. */
export interface NewStep extends Omit<RunStep, 'events'> {
  readonly events?: readonly NewEvent[];
}

export interface Recorder {
  /** Queues events. Settles when there is room for more. */
  add(events: readonly NewEvent[]): Promise<void>;
  /** Records the queued events now. Undefined if there are none, and all earlier ones are recorded. */
  recordPending(): Promise<void> | undefined;
  /** Records the queued events, then this step. Returns undefined if the run no longer owns the conversation. */
  step(step: NewStep): Promise<number | undefined>;
  /** Records the events that were left when the run was stopped, then these events and this progress. */
  recordFinal(events: readonly NewEvent[], progress?: RunProgress): Promise<void>;
}

interface RecorderOptions {
  readonly record: ClaimedRun['record'];
  readonly masking: Masking;
  /** What the conversation has used of its model so far; undefined if nothing was metered. */
  readonly metrics?: () => LlmMetrics | undefined;
  readonly clock?: Clock;
  /** Handles errors of work that nobody awaits. */
  readonly watch: RunFaults['watch'];
}

/** Events that are recorded together. Others join them until that begins. */
interface Batch {
  readonly entries: Entry[];
  /** Settles when they are recorded; undefined until somebody asks for that. */
  recorded?: Promise<void>;
}

function inPieces(entries: readonly Entry[]): Entry[][] {
  const count = Math.ceil(entries.length / stepEventsMax);
  return Array.from({ length: count }, (_, i) => entries.slice(i * stepEventsMax, (i + 1) * stepEventsMax));
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { record, masking, metrics, clock = systemClock, watch } = options;
  const causes = createCauses();
  let batch: Batch = { entries: [] };
  const unrecorded: Entry[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let timer: Timer | undefined;
  /** Steps that are not recorded yet. */
  let working = 0;

  /** Existing clients read the cost of a conversation from the actions of its agent. */
  function withMetrics(event: NewEvent): NewEvent {
    if (!('action' in event) || event.source !== 'agent') return event;
    const used = metrics?.();
    return used === undefined ? event : { ...event, llm_metrics: used };
  }

  function toEntries(events: readonly NewEvent[]): Entry[] {
    const at = timestamp(clock);
    return events.map((event) => ({
      text: eventText(withMetrics(masking.event(event)), at),
      ...('tool_call_id' in event ? { call: { id: event.tool_call_id, begins: 'action' in event } } : {}),
    }));
  }

  /** Records one step. Its causes are resolved here, when all earlier steps have their ids. */
  async function recordStep(entries: readonly Entry[], step: Omit<RunStep, 'events'>) {
    const first = await record({ ...step, events: causes.resolve(entries) });
    if (first !== undefined) causes.note(entries, first);
    return first;
  }

  function enqueue<Out>(work: () => Promise<Out>): Promise<Out> {
    working += 1;
    const done = last.then(work).finally(() => (working -= 1));
    last = done.catch(() => {});
    return done;
  }

  /** Later events go into a new batch. */
  function closeBatch(): void {
    timer?.stop();
    timer = undefined;
    batch = { entries: [] };
  }

  async function recordBatch(taken: Batch): Promise<void> {
    if (batch === taken) closeBatch();
    for (const entries of inPieces(taken.entries))
      if ((await recordStep(entries, {})) === undefined) unrecorded.push(...entries);
  }

  /**
   * Records the batch before anything that is called later. The batch stays open until its turn comes: otherwise an
   * agent that is faster than the commits would get ever further ahead of the log.
   */
  function drain(): Promise<void> {
    const taken = batch;
    taken.recorded ??= enqueue(() => recordBatch(taken));
    return taken.recorded;
  }

  return {
    recordPending: () => {
      if (batch.entries.length > 0) watch(drain);
      return working === 0 ? undefined : last.then(() => {});
    },
    add: async (events) => {
      batch.entries.push(...toEntries(events));
      if (batch.entries.length > batchEventsMax) await drain();
      else if (batch.entries.length > 0) timer ??= clock.after(gatherMs, () => watch(drain));
    },
    step: ({ events = [], reason, ...step }) => {
      const entries = toEntries(events);
      if (batch.entries.length > 0) watch(drain);
      closeBatch();
      return enqueue(() =>
        recordStep(entries, {
          ...step,
          ...(reason === undefined ? {} : { reason: { ...reason, message: masking.text(reason.message) } }),
        }),
      );
    },
    recordFinal: async (events, progress = {}) => {
      await drain();
      const pieces = inPieces([...unrecorded, ...toEntries(events)]);
      const end = pieces.pop() ?? [];
      for (const piece of pieces) await enqueue(() => recordStep(piece, { isFinal: true }));
      if (end.length > 0 || Object.keys(progress).length > 0)
        await enqueue(() => recordStep(end, { progress, isFinal: true }));
    },
  };
}
