// The plans of the statements of a transaction, and how many rows PostgreSQL reads for them.
import type { Steps } from '../../src/db/transaction.ts';
import { type StorageLocation, withPostgres } from './databases.ts';
import { inspect } from './inspect.ts';

/** The statements of a transaction whose first ones find these rows. */
export function statementsOf(steps: Steps<unknown>, results: readonly (readonly unknown[])[] = []): string[] {
  const texts: string[] = [];
  for (let step = steps.next(); !step.done; step = steps.next([...(results[texts.length - 1] ?? [])])) {
    const { sql, parameters } = step.value.compile();
    const literal = (value: unknown) => {
      if (Array.isArray(value)) return `'{${value.join(',')}}'`;
      return typeof value === 'number' ? String(value) : `'${String(value)}'`;
    };
    let n = 0;
    texts.push(
      sql
        .replace(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1]))
        .replace(/\?/g, () => literal(parameters[n++])),
    );
  }
  return texts;
}

/** The plan of a statement, a line for each step. */
export async function planOf(storage: StorageLocation, statement: string): Promise<string> {
  const explain = storage.databaseUrl === undefined ? 'explain query plan' : 'explain';
  const rows = await inspect(storage, `${explain} ${statement}`);
  return rows.map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n');
}

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The rows that all steps of a plan have read together. */
function rowsOf(node: PlanNode): number {
  const {
    'Actual Rows': rows,
    'Rows Removed by Filter': filtered = 0,
    'Rows Removed by Index Recheck': rechecked = 0,
  } = node;
  const own = (rows + filtered + rechecked) * node['Actual Loops'];
  return (node.Plans ?? []).reduce((sum, below) => sum + rowsOf(below), own);
}

/** Runs a statement on PostgreSQL and undoes it. Returns how many rows the steps of its plan have read together. */
export async function rowsRead({ databaseUrl = '' }: StorageLocation, statement: string): Promise<number> {
  return withPostgres(databaseUrl, async (client) => {
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, timing off, format json) ${statement}`);
    await client.query('rollback');
    const [explained] = rows as readonly { 'QUERY PLAN': readonly [{ Plan: PlanNode }] }[];
    if (explained === undefined) throw new Error('there is no plan');
    return rowsOf(explained['QUERY PLAN'][0].Plan);
  });
}
