// The sink of a run: what the agent does goes to the log in order, gathered a little, masked, and never faster than
// the database takes it.
import { eventText, type NewEvent } from '../events/shapes.ts';
import type { Masking } from './masking.ts';
import type { RunContext, RunStep } from './runContext.ts';
import type { RunFaults } from './runFaults.ts';
import type { RunProgress } from './store.ts';

/** For so long events wait for others that share their commit. */
const gatherMs = 50;
/** More events than these make the agent wait. */
const waitingMax = 500;
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
  /** Records what could not be recorded since the run was stopped, then these events and this progress. */
  lastWords(events: readonly NewEvent[], progress?: RunProgress): Promise<void>;
}

interface RecorderOptions {
  readonly record: RunContext['record'];
  readonly masking: Masking;
  /** Takes what fails while nobody waits for it. */
  readonly watch: RunFaults['watch'];
}

export function createRecorder({ record, masking, watch }: RecorderOptions): Recorder {
  let waiting: string[] = [];
  const unrecorded: string[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function toTexts(events: readonly NewEvent[]): string[] {
    const at = new Date().toISOString();
    return events.map((event) => eventText(masking.event(event), at));
  }

  function enqueue<Out>(work: () => Promise<Out>): Promise<Out> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  /** Records what waits at the time of the call, before whatever is called for later. */
  function drain(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const taken = waiting;
    waiting = [];
    return enqueue(async () => {
      for (let from = 0; from < taken.length; from += stepEventsMax) {
        const events = taken.slice(from, from + stepEventsMax);
        if ((await record({ events })) === undefined) unrecorded.push(...events);
      }
    });
  }

  return {
    add: async (events) => {
      waiting.push(...toTexts(events));
      if (waiting.length > waitingMax) await drain();
      else if (waiting.length > 0) timer ??= setTimeout(() => watch(drain), gatherMs);
    },
    step: ({ events = [], reason, ...step }) => {
      const texts = toTexts(events);
      if (waiting.length > 0) watch(drain);
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
      const texts = [...unrecorded, ...toTexts(events)].slice(0, stepEventsMax);
      if (texts.length > 0 || Object.keys(progress).length > 0)
        await enqueue(() => record({ events: texts, progress, lastWords: true }));
    },
  };
}
