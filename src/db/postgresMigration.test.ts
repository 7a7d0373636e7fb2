// What a start says if the schema cannot be brought up to date.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createStorage, withPostgres } from '../../test/support/databases.ts';
import { openConfiguredDatabase } from '../database.ts';
import { RefusalError } from '../errors.ts';

async function emptyDatabase(t: TestContext): Promise<{ dataDir: string; databaseUrl: string }> {
  const { dataDir, databaseUrl = '', remove } = await createStorage('postgres', { migrated: false });
  t.after(remove);
  return { dataDir, databaseUrl };
}

const failing = async (places: { dataDir: string; databaseUrl: string }, expected: RegExp) =>
  assert.rejects(openConfiguredDatabase(places, assert.ifError), (error: Error) => {
    assert.ok(error instanceof RefusalError);
    assert.match(error.message, expected);
    assert.doesNotMatch(error.message, /is not available|Check that it runs/);
    return true;
  });

describe('a PostgreSQL schema that cannot be updated', () => {
  it('names the migration that failed, and why', async (t) => {
    const places = await emptyDatabase(t);
    await withPostgres(places.databaseUrl, (client) => client.query('create table conversations (x int)'));
    await failing(
      places,
      /^The migration 0001-foundation could not be applied to .*: relation "conversations" already exists\. Nothing was changed/,
    );
  });

  it('says which right the user of the database lacks', async (t) => {
    const { dataDir, databaseUrl } = await emptyDatabase(t);
    const role = `reader_${process.pid}`;
    await withPostgres(databaseUrl, async (client) => {
      await client.query('revoke create on schema public from public');
      await client.query(`create role ${role} login password 'reader'`);
    });
    const url = new URL(databaseUrl);
    [url.username, url.password] = [role, 'reader'];
    await failing({ dataDir, databaseUrl: url.href }, /^The schema .*permission denied.*must own the tables/);
  });
});
