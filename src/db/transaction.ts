// A transaction is a generator of queries. It does no I/O itself, so that both engines can run it: SQLite synchronously
// in a thread, many per commit; PostgreSQL on a pooled client, with retries after conflicts.
import type { Compilable, Kysely, RawBuilder } from 'kysely';
import type { Tables } from './tables.ts';

export type DatabaseKind = 'sqlite' | 'postgres';
export type Query<Row> = Compilable<Row>;
export type Steps<Out> = Generator<YieldedQuery, Out, unknown[]>;

interface YieldedQuery extends Query<unknown> {
  /** The statement returns no rows, and SQLite answers with its changes. */
  readonly wantsChanges?: true;
  /** PostgreSQL parses a statement with a name once per connection. */
  readonly statementName?: string;
}

/** What a transaction builds its queries with. `now` is the database's clock in milliseconds. */
export interface Queries {
  readonly kind: DatabaseKind;
  readonly build: Kysely<Tables>;
  readonly now: RawBuilder<number>;
}

/** A named transaction. Input and output must survive a structured clone: they cross a thread. */
export interface Transaction<In, Out> {
  readonly name: string;
  readonly access: 'read' | 'write';
  /**
   * Running it twice with the same input has the effect and result of running it once. It is retried if the answer to a
   * COMMIT was lost.
   */
  readonly repeatable: boolean;
  readonly steps: (q: Queries, input: In) => Steps<Out>;
  readonly set?: SetForm<In, Out>;
  /** It runs so often that PostgreSQL keeps the plans of its prepared statements for a while. */
  readonly keepsPlans?: boolean;
  /** See `slowRead`. */
  readonly isSlow?: boolean;
}

/**
 * How PostgreSQL runs many calls of a transaction as one statement. It must give the same results and rows as `steps`
 * for each call in turn; a call for which it cannot is left out.
 */
export interface SetForm<In, Out> {
  /**
   * Names of what the call locks or creates. Calls that share one are not in the same set, nor in two sets at the same
   * time. Undefined if the call does not fit into a set.
   */
  readonly claims: (input: In) => readonly string[] | undefined;
  /** The size of the input in characters, for the bound of a set. */
  readonly sizeOf: (input: In) => number;
  /** Returns results by the index of their call. A call that has none changed nothing, and is run by itself. */
  readonly steps: (q: Queries, inputs: readonly In[]) => Steps<ReadonlyMap<number, Out>>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of transactions of unlike types needs it
export type AnyTransaction = Transaction<any, any>;

export interface RunOptions {
  /** In terms of `performance.now()`. A write that cannot be committed by then has no effect. */
  readonly deadline?: number;
}

export interface Database {
  readonly kind: DatabaseKind;
  /**
   * The promise of a write settles once it is committed to disk. A write that fails was not stored, unless the error is
   * `outcome_unknown`.
   */
  run<In, Out>(transaction: Transaction<In, Out>, input: In, options?: RunOptions): Promise<Out>;
  /** Calls back when another process may have changed data, at most a second late. */
  onForeignChange(listener: () => void): void;
  /** Notifies that these topics have changed and are committed: this process at once, others soon. */
  notify(topics: readonly string[]): void;
  /** Calls back for notifications. A lost one appears as a foreign change. */
  onNotification(listener: (topics: readonly string[]) => void): void;
  close(): Promise<void>;
}

/** PostgreSQL runs many calls at once if there is a set form. */
export function write<In, Out>(
  name: string,
  steps: Transaction<In, Out>['steps'],
  set?: SetForm<In, Out>,
): Transaction<In, Out> {
  return { name, access: 'write', repeatable: false, steps, ...(set && { set }) };
}

/** A write that is safe to run again: see `repeatable`. */
export function repeatableWrite<In, Out>(
  name: string,
  steps: Transaction<In, Out>['steps'],
  set?: SetForm<In, Out>,
): Transaction<In, Out> {
  return { ...write(name, steps, set), repeatable: true };
}

/** Each query of a read sees the latest commit; a read that needs one snapshot is one query. */
export function read<In, Out>(name: string, steps: Transaction<In, Out>['steps']): Transaction<In, Out> {
  return { name, access: 'read', repeatable: true, steps };
}

/**
 * A read that may take long, such as a search. SQLite runs it in a thread of its own, because other reads block the
 * process; PostgreSQL with a shorter timeout, and by indexes alone. Throws a `ReadTimeout` if it takes too long.
 */
export function slowRead<In, Out>(name: string, steps: Transaction<In, Out>['steps']): Transaction<In, Out> {
  return { ...read(name, steps), isSlow: true };
}

export function* rows<Row>(query: Query<Row>): Steps<Row[]> {
  return (yield query) as Row[];
}

export function* one<Row>(query: Query<Row>): Steps<Row | undefined> {
  return (yield query)[0] as Row | undefined;
}

interface SqliteChanges {
  readonly changes: number;
  /** The key of the inserted row; that of an earlier one if `changes` is 0. */
  readonly lastInsertRowid: number;
}

/** The changes of a statement on SQLite. PostgreSQL does not report them; use `returning` there. */
export function* sqliteChanges(query: Query<unknown>): Steps<SqliteChanges> {
  return (yield { compile: () => query.compile(), wantsChanges: true })[0] as SqliteChanges;
}

let statements = 0;

class Placeholder {
  readonly key: string;
  constructor(key: string) {
    this.key = key;
  }
}

/**
 * A query that is compiled once per engine and bound many times. In `build`, the fields of `input` are placeholders:
 * they can be used as values but not read.
 */
export function prepared<In extends object, Row>(
  build: (q: Queries, input: In) => Query<Row>,
): (q: Queries, input: In) => Query<Row> {
  const statementName = `parley_${++statements}`;
  const compiled = new WeakMap<Queries, { readonly sql: string; readonly parameters: readonly unknown[] }>();
  const placeholders = new Proxy({}, { get: (_, key) => new Placeholder(String(key)) }) as In;
  return (q, input) => {
    let query = compiled.get(q);
    if (query === undefined) {
      query = build(q, placeholders).compile();
      compiled.set(q, query);
    }
    const { sql } = query;
    const parameters = query.parameters.map((p) => (p instanceof Placeholder ? input[p.key as keyof In] : p));
    // The engines use only these two.
    return { compile: () => ({ sql, parameters }), statementName } as unknown as Query<Row>;
  };
}
