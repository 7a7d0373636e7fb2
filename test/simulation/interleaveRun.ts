// Interleaves the named pairs on the PostgreSQL of `PARLEY_TEST_POSTGRES`, for `mutation.ts`. Prints the first that fails.
import { createStorage } from '../support/databases.ts';
import { interleaveAll } from './interleavings.ts';
import { pairs } from './pairs.ts';

const names = process.argv.slice(2);
const { databaseUrl = '', remove } = await createStorage('postgres');
for await (const { name, orders, fault } of interleaveAll(
  databaseUrl,
  pairs.filter((pair) => names.includes(pair.name)),
)) {
  if (fault === undefined) continue;
  console.log(`Order ${orders}: ${name}: ${fault}`);
  process.exitCode = 1;
  break;
}
await remove();
