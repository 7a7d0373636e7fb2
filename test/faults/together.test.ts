import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { migrations } from '../../src/db/migrate.ts';
import { withPostgres } from '../support/databases.ts';
import { countWaiting } from '../support/faults.ts';
import { inspect } from '../support/inspect.ts';
import { createSite, type Ended, type Program, type Site, startWithinMs } from '../support/process.ts';
import { ask } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The lock that migrations take: see src/db/migrate.ts. */
const migrationLock = 7_265_108;

/** Starts one service per environment, and lets none pass what `block` locks before all are there or refused. */
async function startTogether(
  site: Site,
  block: { sql: string; kind: string },
  environments: readonly Record<string, string>[],
): Promise<Program[]> {
  const url = site.storage.databaseUrl ?? '';
  return withPostgres(url, async (client) => {
    await client.query('begin');
    await client.query(block.sql);
    const programs = environments.map((env) => site.begin({ env }));
    const areThere = async () => {
      const refused = programs.filter((program) => program.hasEnded()).length;
      return (await countWaiting(url, block.kind)) + refused === programs.length;
    };
    await until('all are there', areThere, startWithinMs);
    await client.query('commit');
    return programs;
  });
}

const blockMigration = {
  sql: `select pg_advisory_xact_lock(${migrationLock})`,
  kind: "locktype = 'advisory'",
};
const blockVault = { sql: 'lock table facts in access exclusive mode', kind: "locktype = 'relation'" };

interface Outcome {
  readonly url: string | undefined;
  readonly ended: Ended | undefined;
}

/** Waits until it listens or has ended. */
async function outcomeOf(program: Program): Promise<Outcome> {
  await until(
    'the service has started or refused',
    () => program.listeningUrl() !== undefined || program.hasEnded(),
    startWithinMs,
  );
  return { url: program.listeningUrl(), ended: program.hasEnded() ? await program.ended() : undefined };
}

function readKey(dataDir: string): string {
  return readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
}

describe('two first starts at the same moment on one PostgreSQL', { timeout: 240_000 }, () => {
  it('both come up with the same PARLEY_SECRET_KEY, one layout and one owner key', async (t) => {
    const site = await createSite('postgres', t);
    const PARLEY_SECRET_KEY = randomBytes(32).toString('base64');
    const dirs = [site.createDir(), site.createDir()];
    const programs = await startTogether(
      site,
      blockMigration,
      dirs.map((PARLEY_DATA_DIR) => ({ PARLEY_SECRET_KEY, PARLEY_DATA_DIR })),
    );
    const outcomes = await Promise.all(programs.map(outcomeOf));
    assert.deepEqual(
      outcomes.map(({ ended }) => ended),
      [undefined, undefined],
    );

    const applied = await inspect(site.storage, 'select name from migrations order by name');
    assert.deepEqual(
      applied.map(({ name }) => name),
      migrations.map(({ name }) => name),
    );
    const keys = await inspect(site.storage, 'select id from keys');
    assert.equal(keys.length, 1);
    const [holder = '', ...others] = dirs.filter((dir) => existsSync(join(dir, 'owner.key')));
    assert.deepEqual(others, []);
    for (const { url = '' } of outcomes)
      assert.equal((await ask(url, '/api/settings', { key: readKey(holder) })).status, 200);
    const named = programs.filter((program) => program.stdout().includes('Owner key: written to'));
    assert.equal(named.length, 1);
    // The output of these processes is not a terminal, so no key is in it.
    for (const program of programs) assert.doesNotMatch(program.stdout(), /pk_/);
  });

  it('come up as one where each makes a encryption key of its own, the other refuses, exit code 2', async (t) => {
    const site = await createSite('postgres', t);
    // Makes the tables, so that there is something to lock.
    assert.equal((await site.run(['users', 'list'])).code, 0);
    const dirs = [site.createDir(), site.createDir()];
    const programs = await startTogether(
      site,
      blockVault,
      dirs.map((PARLEY_DATA_DIR) => ({ PARLEY_DATA_DIR })),
    );
    const outcomes = await Promise.all(programs.map(outcomeOf));
    const [refused, ...rest] = outcomes.flatMap(({ ended }) => ended ?? []);
    assert.deepEqual(rest, []);
    assert.equal(refused?.code, 2);
    assert.match(refused.stderr, /^parley: The encryption key is wrong[^\n]+PARLEY_SECRET_KEY[^\n]+\n$/);
    const [holder = '', ...others] = dirs.filter((dir) => existsSync(join(dir, 'secret.key')));
    assert.deepEqual(others, []);
    const url = outcomes.find((outcome) => outcome.url !== undefined)?.url ?? '';
    assert.equal((await ask(url, '/api/settings', { key: readKey(holder) })).status, 200);
  });

  it('come up or refuse with a sentence where they share a data folder, which then has the right keys', async (t) => {
    const site = await createSite('postgres', t);
    assert.equal((await site.run(['users', 'list'])).code, 0);
    const programs = await startTogether(site, blockVault, [{}, {}]);
    const outcomes = await Promise.all(programs.map(outcomeOf));
    for (const { ended } of outcomes) {
      if (ended === undefined) continue;
      assert.equal(ended.code, 2, ended.stderr);
      assert.match(ended.stderr, /^parley: [^\n]+\n$/);
    }
    const urls = outcomes.flatMap(({ url }) => url ?? []);
    assert.ok(urls.length > 0);
    for (const url of urls)
      assert.equal((await ask(url, '/api/settings', { key: readKey(site.storage.dataDir) })).status, 200);
    for (const program of programs) {
      program.send('SIGKILL');
      await program.ended();
    }
    const next = await site.serve();
    assert.equal((await next.ask('/api/settings')).status, 200);
  });
});
