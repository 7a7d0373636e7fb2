// The connection of one simulated process to the database. Requests and answers take time and may be lost; a write may
// be committed although its caller gets an error, as with PostgreSQL when the answer to a COMMIT is lost.
import { outcomeUnknown } from '../../src/db/outcomes.ts';
import type { AnyTransaction, Database, Transaction } from '../../src/db/transaction.ts';
import { AppError } from '../../src/errors.ts';
import type { Random } from '../chaos/random.ts';
import type { Store } from './store.ts';
import { type Actor, Violation, type World } from './world.ts';

/** Writes have no effect after their deadline in `db/postgres.ts`, so none takes longer than that to arrive. */
const slowMsMax = 9_000;
const usualMsMax = 8;
const repeatMsMax = 300;
const foreignChangeMs = 800;

/** What can go wrong between a process and the database. Each is a probability. */
export interface DatabaseFaults {
  /** The request takes seconds. */
  readonly slow: number;
  /** It is not executed, and the caller gets an error. */
  readonly refused: number;
  /** It may be committed, and the connection breaks before the answer. */
  readonly unknown: number;
  /** Another process does not get a notification. */
  readonly missedNotification: number;
}

export const noFaults: DatabaseFaults = { slow: 0, refused: 0, unknown: 0, missedNotification: 0 };

/** Sees every write right before and after it. */
export interface WriteWatch {
  before(transaction: AnyTransaction, input: unknown): void;
  after(transaction: AnyTransaction, input: unknown, output: unknown, by: string): void;
}

export interface SimConnections {
  connect(actor: Actor): Database;
}

interface ConnectionsOptions {
  readonly world: World;
  readonly store: Store;
  readonly watch: WriteWatch;
  readonly faults: () => DatabaseFaults;
  readonly onCommit: (by: Actor) => void;
}

function unavailable(): AppError {
  return new AppError('database_unavailable', 'The database is not available.', { retryAfterS: 1 });
}

function short(value: unknown): string {
  const all = JSON.stringify(value) ?? 'undefined';
  // Ids of deliveries are the only thing that the seed does not decide; they sort by the order of their creation.
  const text = all.replaceAll(/msg_[0-9a-f]+/g, 'msg');
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** What the trace shows of an input: which conversation and run, and what the run wants to record. */
function describeInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return short(input);
  const { key, id, runId, step, to, progress, question, kind, waitsForAnswer } = input as Record<
    string,
    unknown
  >;
  return short({ key, id, runId, step, to, progress, question, kind, waitsForAnswer });
}

type Listener = (topics: readonly string[]) => void;

export function createConnections({
  world,
  store,
  watch,
  faults,
  onCommit,
}: ConnectionsOptions): SimConnections {
  const listeners = new Map<Actor, { notified: Listener[]; foreign: (() => void)[] }>();

  /** Executes a write now. */
  function commit<In, Out>(transaction: Transaction<In, Out>, input: In, by: string): Out {
    watch.before(transaction, input);
    try {
      const output = store.run(transaction, input);
      // Most claims find nothing, and would fill the trace.
      if (output !== undefined || transaction.name !== 'runtime.claim')
        world.note(() => `${by} ${transaction.name} ${describeInput(input)} -> ${short(output)}`);
      watch.after(transaction, input, output, by);
      return output;
    } catch (error) {
      if (error instanceof Violation) throw error;
      // Expected outcomes are returned, so a transaction that throws has met a state that should not exist.
      throw new Violation('transaction-throws', `${transaction.name} ${(error as Error).stack}`);
    }
  }

  function connect(actor: Actor): Database {
    const random: Random = world.random.fork(`${actor.name} database`);
    const own = { notified: [] as Listener[], foreign: [] as (() => void)[] };
    listeners.set(actor, own);

    const usual = () => random.between(0, usualMsMax);
    const there = () => (random.chance(faults().slow) ? random.between(100, slowMsMax) : usual());

    function answerLater(work: () => void): void {
      world.after(usual(), actor, work);
    }

    /** Whether a request of this process still reaches the database: one of a dead process may be on its way. */
    const arrives = () => actor.isAlive || random.chance(0.5);

    function write<In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> {
      const { slow: _, refused, unknown } = faults();
      const isRefused = random.chance(refused);
      const isUnknown = !isRefused && random.chance(unknown);
      return new Promise((resolve, reject) => {
        const failWith = (error: AppError) => {
          world.note(() => `${actor.name} ${transaction.name} is answered with ${error.code}`);
          answerLater(() => reject(error));
        };
        function execute(isRepeated: boolean): void {
          if (!arrives()) return;
          if (isRefused) failWith(unavailable());
          else if (!isUnknown || isRepeated) {
            const output = commit(transaction, input, actor.name);
            answerLater(() => resolve(output));
            onCommit(actor);
          } else {
            if (random.chance(0.7)) commit(transaction, input, `${actor.name} (answer lost)`);
            // The engine repeats what may be repeated: see `db/postgres.ts`.
            if (transaction.repeatable)
              world.after(random.between(1, repeatMsMax), undefined, () => execute(true));
            else failWith(outcomeUnknown(undefined));
          }
        }
        world.after(there(), undefined, () => execute(false));
      });
    }

    /** Each query of a read sees the latest commit, so others may commit between them. */
    function read<In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> {
      const isRefused = random.chance(faults().refused);
      return new Promise((resolve, reject) => {
        if (isRefused) return answerLater(() => reject(unavailable()));
        const steps = store.begin(transaction, input);
        const go = (): void => {
          const { done, value } = steps.next();
          if (done) answerLater(() => resolve(value as Out));
          else world.after(random.chance(0.8) ? 0 : usual(), undefined, go);
        };
        world.after(there(), undefined, go);
      });
    }

    function tellOthers(topics: readonly string[]): void {
      for (const [other, { notified, foreign }] of listeners) {
        if (other === actor || !other.isAlive) continue;
        if (random.chance(faults().missedNotification))
          world.after(random.between(foreignChangeMs / 2, foreignChangeMs), other, () => {
            for (const listener of foreign) listener();
          });
        else
          world.after(random.between(1, 20), other, () => {
            for (const listener of notified) listener(topics);
          });
      }
    }

    return {
      // What kind of queries the transactions build; the behaviour is that of a server with several clients.
      kind: 'sqlite',
      run: <In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> => {
        // The code of a dead process goes nowhere.
        if (!actor.isAlive) return new Promise(() => {});
        return transaction.access === 'read' ? read(transaction, input) : write(transaction, input);
      },
      onForeignChange: (listener) => void own.foreign.push(listener),
      onNotification: (listener) => void own.notified.push(listener),
      notify: (topics) => {
        if (!actor.isAlive) return;
        for (const listener of own.notified) listener(topics);
        tellOthers(topics);
      },
      close: async () => {},
    };
  }

  return { connect };
}
