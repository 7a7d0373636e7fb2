// The thread that runs slow reads of SQLite, such as searches, one at a time on a connection that cannot write.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { createSqliteQueries } from './queries.ts';
import { createSqliteDriver } from './sqliteDriver.ts';
import type { Failure, ThreadInput } from './sqliteThread.ts';
import type { AnyTransaction } from './transaction.ts';

export interface SlowCall {
  readonly name: string;
  readonly input: unknown;
}

export interface SlowAnswer {
  readonly value?: unknown;
  readonly failure?: Failure;
}

const busyTimeoutMs = 5_000;

const { file, transactionsUrl } = workerData as ThreadInput;
const { transactions } = (await import(transactionsUrl)) as { transactions: readonly AnyTransaction[] };
const byName = new Map(transactions.map((transaction) => [transaction.name, transaction]));
const database = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
const { drive } = createSqliteDriver(database);
const queries = createSqliteQueries();

function answer({ name, input }: SlowCall): SlowAnswer {
  try {
    const transaction = byName.get(name);
    if (transaction === undefined) throw new Error(`transaction ${name} is not in the list of transactions`);
    return { value: drive(transaction.steps(queries, input)) };
  } catch (error) {
    const { message, errcode } = error as { message?: string; errcode?: number };
    return { failure: { message: message ?? String(error), errcode, isLate: false } };
  }
}

parentPort?.on('message', (call: SlowCall) => parentPort?.postMessage(answer(call)));
parentPort?.postMessage('ready');
