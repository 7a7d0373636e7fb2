import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStorage } from '../support/databases.ts';
import { interleaveAll } from './interleavings.ts';
import { pairs } from './pairs.ts';

describe('two transactions that meet on PostgreSQL', () => {
  for (const pair of pairs)
    it(`end as if one came after the other: ${pair.name}`, async (t) => {
      const { databaseUrl = '', remove } = await createStorage('postgres');
      t.after(remove);
      for await (const { fault, orders } of interleaveAll(databaseUrl, [pair])) {
        assert.equal(fault, undefined);
        assert.ok(orders > 1);
      }
    });
});
