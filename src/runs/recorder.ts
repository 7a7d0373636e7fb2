// The sink of a run: what the agent does goes to the log in order, gathered a little, masked, and never faster than
// the database takes it.

import type { RunProgress } from '../conversations/run/store.ts';
import { eventText, type NewEvent } from '../events/shapes.ts';
import { type Clock, systemClock, type Timer, timestamp } from '../process/clock.ts';
import type { ClaimedRun, RunStep } from './claimedRun.ts';
import type { Masking } from './masking.ts';
import type { RunFaults } from './runFaults.ts';

/** For so long events wait for others that share their commit. */
const gatherMs = 50;
/** More events than these in a batch make the agent wait. */
const batchEventsMax = 500;
const stepEventsMax = 100;

/** A step of a run before its events are text. */
export interface NewStep extends Omit<RunStep, 'events'> {
  readonly events?: readonly NewEvent[];
}

export interface Recorder {
  /** Takes events that are to be recorded soon. Settles when there is room for more. */
  add(events: readonly NewEvent[]): Promise<void>;
  /** Records what waits, then this. Undefined: the run no longer counts. */
  step(step: NewStep): Promise<number | undefined>;
  /** Records the events that were left when the run was stopped, then these events and this progress. */
  lastWords(events: readonly NewEvent[], progress?: RunProgress): Promise<void>;
}

interface RecorderOptions {
  readonly record: ClaimedRun['record'];
  readonly masking: Masking;
  readonly clock?: Clock;
  /** Handles errors of work that nobody awaits. */
  readonly watch: RunFaults['watch'];
}

/** Events that are recorded together. Others join them until that begins. */
interface Batch {
  readonly texts: string[];
  /** Settles when they are recorded; undefined as long as nobody asked for that. */
  recorded?: Promise<void>;
}

function inPieces(texts: readonly string[]): string[][] {
  const count = Math.ceil(texts.length / stepEventsMax);
  return Array.from({ length: count }, (_, i) => texts.slice(i * stepEventsMax, (i + 1) * stepEventsMax));
}

export function createRecorder({ record, masking, clock = systemClock, watch }: RecorderOptions): Recorder {
  let batch: Batch = { texts: [] };
  const unrecorded: string[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let timer: Timer | undefined;

  function toTexts(events: readonly NewEvent[]): string[] {
    const at = timestamp(clock);
    return events.map((event) => eventText(masking.event(event), at));
  }

  function enqueue<Out>(work: () => Promise<Out>): Promise<Out> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  /** Events that are added later make a batch of their own. */
  function closeBatch(): void {
    timer?.stop();
    timer = undefined;
    batch = { texts: [] };
  }

  async function recordBatch(taken: Batch): Promise<void> {
    if (batch === taken) closeBatch();
    for (const events of inPieces(taken.texts))
      if ((await record({ events })) === undefined) unrecorded.push(...events);
  }

  /**
   * Records the batch before whatever is called for later. It stays open until its turn comes: were each commit to take
   * only what came within `gatherMs`, an agent that is faster than the commits would get ever further ahead of the log.
   */
  function drain(): Promise<void> {
    const taken = batch;
    taken.recorded ??= enqueue(() => recordBatch(taken));
    return taken.recorded;
  }

  return {
    add: async (events) => {
      batch.texts.push(...toTexts(events));
      if (batch.texts.length > batchEventsMax) await drain();
      else if (batch.texts.length > 0) timer ??= clock.after(gatherMs, () => watch(drain));
    },
    step: ({ events = [], reason, ...step }) => {
      const texts = toTexts(events);
      if (batch.texts.length > 0) watch(drain);
      closeBatch();
      return enqueue(() =>
        record({
          ...step,
          events: texts,
          ...(reason === undefined ? {} : { reason: { ...reason, message: masking.text(reason.message) } }),
        }),
      );
    },
    lastWords: async (events, progress = {}) => {
      await drain();
      const pieces = inPieces([...unrecorded, ...toTexts(events)]);
      const end = pieces.pop() ?? [];
      for (const piece of pieces) await enqueue(() => record({ events: piece, lastWords: true }));
      if (end.length > 0 || Object.keys(progress).length > 0)
        await enqueue(() => record({ events: end, progress, lastWords: true }));
    },
  };
}
