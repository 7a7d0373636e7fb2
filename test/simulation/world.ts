// The simulated world: one queue of what happens next, one clock, and the processes that it happens to. A seed decides
// everything, so the same seed always leads to the same history.
import { setImmediate as drained } from 'node:timers/promises';
import { createRandom, type Random } from '../chaos/random.ts';

/** How many of the last steps a report shows. */
const tracedMax = 400;

/** A process, or a program beside it. What is due for it is dropped once it is dead, and waits while it is paused. */
export interface Actor {
  readonly name: string;
  isAlive: boolean;
  pausedUntil: number;
}

interface Happening {
  at: number;
  /** Decides between happenings of the same millisecond. */
  order: number;
  readonly actor: Actor | undefined;
  readonly work: () => void;
  isCancelled: boolean;
}

export interface Cancellable {
  cancel(): void;
}

/** A promise of the product is broken. */
export class Violation extends Error {
  readonly invariant: string;
  constructor(invariant: string, sentence: string) {
    super(`${invariant}: ${sentence}`);
    this.name = 'Violation';
    this.invariant = invariant;
  }
}

export interface World {
  readonly random: Random;
  /** The clock of the database. */
  now(): number;
  /** Calls `work` after `ms`, for an actor or for nobody in particular. */
  after(ms: number, actor: Actor | undefined, work: () => void): Cancellable;
  /** Adds a line to the trace. The text is computed only if somebody wants it. */
  note(line: () => string): void;
  /** Records a violation. The step in progress is the last one. */
  fail(violation: Violation): void;
  /** Lets things happen until the time, until the condition holds, or until a violation. */
  runUntil(time: number, isOver?: () => boolean): Promise<void>;
  readonly violation: () => Violation | undefined;
  readonly steps: () => number;
  readonly trace: () => readonly string[];
  /** Changes with every line of the trace, so that two histories can be compared. */
  readonly digest: () => number;
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A binary heap of what happens next. */
function createQueue() {
  const heap: Happening[] = [];

  function swap(i: number, j: number): void {
    const held = heap[i] as Happening;
    heap[i] = heap[j] as Happening;
    heap[j] = held;
  }

  function rise(from: number): void {
    for (let i = from; i > 0; ) {
      const above = (i - 1) >> 1;
      if (!isBefore(heap[i] as Happening, heap[above] as Happening)) return;
      swap(i, above);
      i = above;
    }
  }

  function sink(): void {
    for (let i = 0; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && isBefore(heap[child] as Happening, heap[least] as Happening))
          least = child;
      if (least === i) return;
      swap(i, least);
      i = least;
    }
  }

  return {
    peek: () => heap[0],
    add: (happening: Happening) => {
      heap.push(happening);
      rise(heap.length - 1);
    },
    take: (): Happening | undefined => {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      sink();
      return first;
    },
  };
}

/** `onStep` is called after each step, when nothing of it is left to do. */
export function createWorld(seed: number, { keepAll = false, startMs = Date.UTC(2026, 0, 1) } = {}): World {
  const random = createRandom(seed);
  // Of its own, so that a report can be made more detailed without changing the history.
  const order = random.fork('order');
  const queue = createQueue();
  const lines: string[] = [];
  let now = startMs;
  let steps = 0;
  let digest = 0;
  let violation: Violation | undefined;

  function note(line: () => string): void {
    const text = `${((now - startMs) / 1_000).toFixed(3)} ${line()}`;
    for (let i = 0; i < text.length; i++) digest = (Math.imul(digest, 31) + text.charCodeAt(i)) | 0;
    lines.push(text);
    if (!keepAll && lines.length > 2 * tracedMax) lines.splice(0, lines.length - tracedMax);
  }

  function fail(found: Violation): void {
    if (violation !== undefined) return;
    violation = found;
    note(() => `VIOLATION ${found.message}`);
  }

  async function happen(happening: Happening): Promise<void> {
    const { actor, work } = happening;
    if (happening.isCancelled || actor?.isAlive === false) return;
    now = Math.max(now, happening.at);
    if (actor !== undefined && actor.pausedUntil > now) {
      queue.add(Object.assign(happening, { at: actor.pausedUntil, order: order.next() }));
      return;
    }
    steps += 1;
    try {
      work();
    } catch (error) {
      fail(error instanceof Violation ? error : new Violation('uncaught', (error as Error).stack ?? ''));
    }
    // Everything that the step resolved goes on until it waits for something of this queue again.
    await drained();
  }

  return {
    random,
    now: () => now,
    after: (ms, actor, work) => {
      const happening = {
        at: now + Math.max(0, Math.ceil(ms)),
        order: order.next(),
        actor,
        work,
        isCancelled: false,
      };
      queue.add(happening);
      const cancel = () => {
        happening.isCancelled = true;
      };
      return { cancel };
    },
    note,
    fail,
    runUntil: async (time, isOver = () => false) => {
      while (violation === undefined && !isOver()) {
        const next = queue.peek();
        if (next === undefined || next.at > time) break;
        queue.take();
        await happen(next);
      }
      if (violation === undefined && !isOver()) now = Math.max(now, time);
    },
    violation: () => violation,
    steps: () => steps,
    trace: () => (keepAll ? lines : lines.slice(-tracedMax)),
    digest: () => digest,
  };
}
