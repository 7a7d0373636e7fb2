import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabaseProxy } from '../support/databaseProxy.ts';
import { postgresUrl, withPostgres } from '../support/databases.ts';
import { storedTitles } from '../support/inspect.ts';
import { createSite, type Service, type Site } from '../support/process.ts';
import type { Answer } from '../support/service.ts';
import { until, watch } from '../support/until.ts';

type Test = Parameters<typeof createSite>[1];

/** The service gives a statement 15 seconds; a database that cannot even say so gets little more. */
const silenceMax = 30_000;

interface Outage {
  readonly service: Service;
  begin(): Promise<void>;
  end(): Promise<void>;
}

function databaseName({ storage }: Site): string {
  return new URL(storage.databaseUrl ?? '').pathname.slice(1);
}

function administer(sql: string): Promise<unknown> {
  return withPostgres(postgresUrl('postgres'), (client) => client.query(sql));
}

function terminateAll(site: Site): Promise<unknown> {
  return administer(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseName(site)}'`,
  );
}

const outages: Readonly<Record<string, (site: Site, t: Test) => Promise<Outage>>> = {
  'cannot be connected to': async (site, t) => {
    const proxy = await createDatabaseProxy(site.storage.databaseUrl ?? '', t);
    const service = await site.serve({ env: { DATABASE_URL: proxy.url } });
    return { service, begin: proxy.shut, end: proxy.open };
  },
  'can only be read': async (site) => {
    const setReadOnly = async (value: 'on' | 'off') => {
      await administer(`alter database ${databaseName(site)} set default_transaction_read_only = ${value}`);
      // The setting is for new sessions.
      await terminateAll(site);
    };
    return {
      service: await site.serve(),
      begin: () => setReadOnly('on'),
      end: () => setReadOnly('off'),
    };
  },
  'accepts nobody': async (site) => ({
    service: await site.serve(),
    begin: async () => {
      await administer(`alter database ${databaseName(site)} with allow_connections false`);
      await terminateAll(site);
    },
    end: async () => {
      await administer(`alter database ${databaseName(site)} with allow_connections true`);
    },
  }),
};

function create(service: Service, id: string): Promise<Answer> {
  return service.ask('/api/conversations', { json: { conversation_id: id, initial_user_msg: id } });
}

function assertUnavailable({ status, headers, text, body }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(body.code, 'database_unavailable');
  assert.match(headers.get('retry-after') ?? '', /^\d+$/);
}

// At once, because some of them wait for time-outs.
describe('a service on PostgreSQL', { timeout: 240_000, concurrency: 3 }, () => {
  for (const [what, prepare] of Object.entries(outages)) {
    describe(`a PostgreSQL that ${what} for a while`, () => {
      it('is answered for with 503, and works again without a restart', async (t) => {
        const site = await createSite('postgres', t);
        const { service, begin, end } = await prepare(site, t);
        assert.equal((await create(service, 'before')).status, 200);
        await begin();
        // Longer than anything about the key is remembered.
        const doneAt = performance.now() + 1_500;
        for (let count = 0; performance.now() < doneAt; count++) {
          assertUnavailable(await create(service, `during-${count % 2}`));
          const settings = await service.ask('/api/settings');
          if (settings.status !== 200) assertUnavailable(settings);
        }
        assertUnavailable(await service.ask('/ready'));
        for (const path of ['/alive', '/health']) assert.equal((await service.ask(path)).status, 200);

        await end();
        await until('it works again', async () => (await create(service, 'during-0')).status === 200);
        assert.equal((await create(service, 'before')).status, 200);
        assert.equal((await service.ask('/ready')).status, 200);
        assert.deepEqual(await storedTitles(site.storage), ['before', 'during-0']);
      });

      it('does not hinder the service from ending on SIGTERM, exit code 0', async (t) => {
        const site = await createSite('postgres', t);
        const { service, begin, end } = await prepare(site, t);
        assert.equal((await create(service, 'before')).status, 200);
        await begin();
        service.send('SIGTERM');
        const { code, stderr } = await service.ended();
        await end();
        assert.equal(code, 0, stderr);
        assert.match(stderr, /"msg":"stopped"/);
      });
    });
  }

  describe('connections to PostgreSQL that are ended under load', () => {
    it('cost single answers, 503, and neither the service nor anything acknowledged', async (t) => {
      const site = await createSite('postgres', t);
      const service = await site.serve();
      const acknowledged: string[] = [];
      let finished = false;
      let sent = 0;

      async function loop(): Promise<void> {
        while (!finished) {
          const id = `load-${sent++}`;
          const answer = await create(service, id);
          if (answer.status === 200) acknowledged.push(id);
          else assertUnavailable(answer);
        }
      }

      async function disturb(): Promise<void> {
        try {
          for (let time = 1; time <= 10; time++) {
            const wanted = acknowledged.length + 20;
            await until('more is acknowledged', () => acknowledged.length >= wanted);
            await terminateAll(site);
          }
        } finally {
          finished = true;
        }
      }

      await Promise.all([disturb(), ...Array.from({ length: 16 }, loop)]);
      const stored = await storedTitles(site.storage);
      assert.equal(new Set(stored).size, stored.length);
      assert.deepEqual(
        acknowledged.filter((id) => !stored.includes(id)),
        [],
      );
      assert.equal((await create(service, 'after')).status, 200);
    });
  });

  describe('a PostgreSQL that falls silent', () => {
    it('is given up on after a while, 503, and works again without a restart', async (t) => {
      const site = await createSite('postgres', t);
      const proxy = await createDatabaseProxy(site.storage.databaseUrl ?? '', t);
      const service = await site.serve({ env: { DATABASE_URL: proxy.url } });
      assert.equal((await create(service, 'before')).status, 200);
      proxy.stall();
      const answer = watch(create(service, 'during'));
      await until('the request is answered', () => answer.settled(), silenceMax);
      assertUnavailable(await answer.promise);
      assert.equal((await service.ask('/alive')).status, 200);
      await proxy.shut();
      await proxy.open();
      await until('it works again', async () => (await create(service, 'during')).status === 200);
      assert.deepEqual(await storedTitles(site.storage), ['before', 'during']);
    });
  });
});
