// Collects calls of the same transaction while earlier ones are being committed, and runs them as one statement in one
// transaction. This is for PostgreSQL what the shared commit is for SQLite.
import { AppError } from '../errors.ts';
import { tooLate } from './outcomes.ts';
import { ConnectFailed, describeFault, faultOf } from './postgresFaults.ts';
import type { AnyTransaction, SetForm, Transaction } from './transaction.ts';

const setCallsMax = 128;
const setCharsMax = 1_000_000;
/** A larger call runs by itself. */
const callCharsMax = 100_000;
/** Sets that run at the same time, each on a connection. With more of them, each would be smaller. */
const setConnectionsMax = 3;
/**
 * Small sets cost much for each of their calls. So fewer calls than this wait for a set that is running, to share the
 * next one, but not longer than `besideMs`, because that set may be waiting for a lock.
 */
const besideCallsMin = 16;
const besideMs = 5;
/** How many calls may wait for their set. More get an error. */
const waitingMax = 4_096;

interface Call {
  readonly transaction: AnyTransaction;
  readonly input: unknown;
  readonly claims: readonly string[];
  readonly chars: number;
  readonly deadline: number;
  /** In terms of `performance.now()`. */
  readonly since: number;
  readonly resolve: (out: unknown) => void;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

interface SetsOptions {
  /** The size of the pool, which sets share with everything else. */
  readonly connectionsMax: number;
  /** One attempt to run this transaction. */
  readonly runOnce: <In, Out>(transaction: Transaction<In, Out>, input: In, deadline: number) => Promise<Out>;
  /** Runs a call by itself, with retries. `unknown` is the error of an attempt that may have been committed. */
  readonly runAlone: (
    transaction: AnyTransaction,
    input: unknown,
    deadline: number,
    unknown: unknown,
  ) => Promise<unknown>;
  readonly onFault: (error: unknown) => void;
  /** Called with the number of calls of each set. */
  readonly onSet?: ((calls: number) => void) | undefined;
  readonly tooManyWait: () => AppError;
}

export interface Sets {
  /**
   * Runs the call in a set. Returns undefined if it has to run by itself: it does not fit into a set, or another call
   * claims the same, so that it would have to wait for the set of that call.
   */
  run<In, Out>(transaction: Transaction<In, Out>, input: In, deadline: number): Promise<Out> | undefined;
}

/** Whether there was no connection for the set, and another attempt would not help its calls either. */
function hadNoConnection(error: unknown): boolean {
  return error instanceof AppError || (error instanceof ConnectFailed && faultOf(error) !== 'lost');
}

export function createSets(options: SetsOptions): Sets {
  const { connectionsMax, runOnce, runAlone, onFault, onSet, tooManyWait } = options;
  const setsMax = Math.max(1, Math.min(setConnectionsMax, connectionsMax - 1));
  /** Calls that can run now, by transaction. No two of them, or of those that run, share a claim. */
  const ready = new Map<AnyTransaction, Call[]>();
  /** The claims of calls that are ready or run. */
  const held = new Set<string>();
  let waiting = 0;
  let running = 0;
  let isScheduled = false;
  /** There are too few calls for a set beside those that are running, and a timer will look again. */
  let isDelayed = false;

  function schedule(): void {
    if (isScheduled || running >= setsMax) return;
    isScheduled = true;
    // At the end of this turn of the event loop, so that calls of the same turn share a set.
    setImmediate(() => {
      isScheduled = false;
      startSets();
    });
  }

  function admit(call: Call): void {
    for (const claim of call.claims) held.add(claim);
    const calls = ready.get(call.transaction);
    if (calls === undefined) ready.set(call.transaction, [call]);
    else calls.push(call);
    schedule();
  }

  function release(call: Call): void {
    for (const claim of call.claims) held.delete(claim);
  }

  function take(calls: Call[]): Call[] {
    let chars = 0;
    let count = 0;
    for (const call of calls) {
      chars += call.chars;
      if (count === setCallsMax || (chars > setCharsMax && count > 0)) break;
      count += 1;
    }
    const taken = calls.splice(0, count);
    for (const { timer } of taken) clearTimeout(timer);
    waiting -= taken.length;
    return taken;
  }

  /** Milliseconds until these calls may start; 0 if that is now. */
  function waitOf(calls: readonly Call[]): number {
    if (running === 0 || calls.length >= besideCallsMin) return 0;
    return Math.max(0, Math.ceil((calls[0]?.since ?? 0) + besideMs - performance.now()));
  }

  function startLater(waitMs: number): void {
    if (isDelayed) return;
    isDelayed = true;
    setTimeout(() => {
      isDelayed = false;
      startSets();
    }, waitMs);
  }

  function startSets(): void {
    for (const [transaction, calls] of ready) {
      if (running >= setsMax) return;
      const waitMs = waitOf(calls);
      if (waitMs > 0) {
        startLater(waitMs);
        continue;
      }
      // Deleted and set again, so that each transaction has its turn.
      ready.delete(transaction);
      const taken = take(calls);
      if (calls.length > 0) ready.set(transaction, calls);
      running += 1;
      onSet?.(taken.length);
      void runSet(transaction, taken).finally(() => {
        running -= 1;
        startSets();
      });
    }
  }

  /** Releases the claims first, so that the next call of the same caller finds them free. */
  function settle(call: Call, result: Promise<unknown>): void {
    result.finally(() => release(call)).then(call.resolve, call.reject);
  }

  async function runSet(transaction: AnyTransaction, calls: readonly Call[]): Promise<void> {
    const { steps } = transaction.set as SetForm<unknown, unknown>;
    const set: Transaction<unknown[], ReadonlyMap<number, unknown>> = {
      ...transaction,
      steps,
      keepsPlans: true,
    };
    const inputs = calls.map(({ input }) => input);
    const deadline = Math.min(...calls.map((call) => call.deadline));
    let results: ReadonlyMap<number, unknown> = new Map();
    let unknown: unknown;
    try {
      results = await runOnce(set, inputs, deadline);
    } catch (error) {
      onFault(error);
      const isUnknown = faultOf(error) === 'unknown';
      if (hadNoConnection(error) || (isUnknown && !transaction.repeatable)) {
        for (const call of calls) settle(call, Promise.reject(describeFault(error)));
        return;
      }
      if (isUnknown) unknown = error;
    }
    for (const [i, call] of calls.entries())
      settle(
        call,
        results.has(i)
          ? Promise.resolve(results.get(i))
          : runAlone(transaction, call.input, call.deadline, unknown),
      );
  }

  /** The deadline has passed before the call was part of a set. */
  function expire(call: Call): void {
    waiting -= 1;
    const calls = ready.get(call.transaction) ?? [];
    calls.splice(calls.indexOf(call), 1);
    if (calls.length === 0) ready.delete(call.transaction);
    release(call);
    call.reject(tooLate());
  }

  function run<In, Out>(
    transaction: Transaction<In, Out>,
    input: In,
    deadline: number,
  ): Promise<Out> | undefined {
    const { set } = transaction;
    const claims = set?.claims(input);
    if (set === undefined || claims === undefined || claims.some((claim) => held.has(claim)))
      return undefined;
    const chars = set.sizeOf(input);
    if (chars > callCharsMax) return undefined;
    if (waiting >= waitingMax) return Promise.reject(tooManyWait());
    const since = performance.now();
    return new Promise<Out>((resolve, reject) => {
      const call: Call = {
        transaction,
        input,
        claims,
        chars,
        deadline,
        since,
        resolve: resolve as (out: unknown) => void,
        reject,
      };
      waiting += 1;
      call.timer = setTimeout(() => expire(call), Math.max(0, deadline - since));
      admit(call);
    });
  }

  return { run };
}
