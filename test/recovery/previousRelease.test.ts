// The release before this version: this version works on its rows, and it works on the schema of this version, beside it,
// unless a migration between the two is a contract.
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { migrations } from '../../src/db/migrate.ts';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { findPreviousTag, type PreviousRelease, prepareRelease } from '../support/previousRelease.ts';
import { createSite, type Program, type Site, untilListening } from '../support/process.ts';
import { type Answer, type Ask, ask } from '../support/service.ts';

const key = 'the-same-key-everywhere';
const env = { SESSION_API_KEY: key, PARLEY_SECRET_KEY: '11'.repeat(32) };
const path = '/api/conversations';
/** Versions without it accept no unknown migration at all. */
const kindsSince = '0028-migration-kinds';

interface Running {
  ask(path: string, asked?: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

async function untilAnswers(program: Program): Promise<Running> {
  const url = await untilListening(program);
  return {
    ask: (asked, options = {}) => ask(url, asked, { key, ...options }),
    stop: async () => {
      program.send('SIGTERM');
      assert.equal((await program.ended()).code, 0);
    },
  };
}

async function good(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, text, body } = await answer;
  assert.equal(status, 200, text);
  return body;
}

const create = (at: Running, id: string) =>
  good(at.ask(path, { json: { conversation_id: id, initial_user_msg: `first of ${id}` } }));
const say = (at: Running, id: string, message: string) =>
  good(at.ask(`${path}/${id}/message`, { json: { message } }));
const events = (at: Running, id: string) => good(at.ask(`${path}/${id}/events?limit=100`));

/** What a user sees. Later versions may add fields, but not change or remove them. */
async function look(at: Running, id: string) {
  const { title, status, trigger, created_at } = await good(at.ask(`${path}/${id}`));
  const { language, llm_model, max_iterations, llm_api_key_set } = await good(at.ask('/api/settings'));
  return {
    info: { title, status, trigger, created_at },
    settings: { language, llm_model, max_iterations, llm_api_key_set },
    events: await events(at, id),
  };
}

const previous = findPreviousTag();
const skip = 'reason' in previous ? previous.reason : false;

describe('the release before this version', { skip, timeout: 10 * 60_000 }, () => {
  let release: PreviousRelease;
  before(() => {
    if ('tag' in previous) release = prepareRelease(previous.tag);
  });
  after(() => release?.remove());

  const beginPrevious = (site: Site) =>
    site.spawn(process.execPath, [release.main, 'serve'], site.environment({ env }));

  /** A database that the previous release has created and used. */
  async function startBefore(kind: DatabaseKind, t: TestContext) {
    const site = await createSite(kind, t);
    const old = await untilAnswers(beginPrevious(site));
    const json = { language: 'de', llm_model: 'openai/gpt-4o', llm_api_key: 'sk-secret', max_iterations: 7 };
    await good(old.ask('/api/settings', { json }));
    await create(old, 'a');
    await say(old, 'a', 'second');
    await create(old, 'stopped');
    await good(old.ask(`${path}/stopped/stop`, { method: 'POST' }));
    const applied = await inspect(site.storage, 'select name from migrations');
    const known = new Set(applied.map(({ name }) => String(name)));
    const unknown = migrations.filter(({ name }) => !known.has(name));
    const mayStay =
      unknown.length === 0 || (known.has(kindsSince) && unknown.every((one) => one.kind === 'expand'));
    return { site, old, mayStay };
  }

  for (const kind of databaseKinds)
    describe(`on ${kind}`, () => {
      it('leaves rows with which this version goes on', async (t) => {
        const { site, old } = await startBefore(kind, t);
        const seen = [await look(old, 'a'), await look(old, 'stopped')];
        await old.stop();
        const now = await untilAnswers(site.begin({ env }));
        assert.deepEqual([await look(now, 'a'), await look(now, 'stopped')], seen);
        await say(now, 'a', 'third');
        await good(now.ask(`${path}/stopped/start`, { method: 'POST' }));
        await create(now, 'new');
        await good(now.ask('/api/settings', { json: { language: 'fr' } }));
        assert.equal((await good(now.ask('/api/settings'))).llm_api_key_set, true);
        await now.stop();
      });

      it('starts on the schema of this version, unless a migration is a contract', async (t) => {
        const { site, old, mayStay } = await startBefore(kind, t);
        await old.stop();
        const now = await untilAnswers(site.begin({ env }));
        await say(now, 'a', 'third');
        await create(now, 'new');
        const seen = [await look(now, 'a'), await look(now, 'new')];
        await now.stop();
        const program = beginPrevious(site);
        if (!mayStay) {
          const { code, stderr } = await program.ended();
          assert.equal(code, 2, stderr);
          assert.match(stderr, /newer version/);
          return;
        }
        const again = await untilAnswers(program);
        assert.deepEqual([await look(again, 'a'), await look(again, 'new')], seen);
        await say(again, 'new', 'by the previous release');
        await good(again.ask(`${path}/stopped/start`, { method: 'POST' }));
        await create(again, 'newer');
        await again.stop();
      });
    });

  it('works beside this version, unless a migration is a contract', async (t) => {
    const { site, old, mayStay } = await startBefore('postgres', t);
    if (!mayStay) {
      t.skip(`a contract came after ${release.tag}`);
      return;
    }
    const now = await untilAnswers(site.begin({ env }));
    for (const [n, [first, second]] of [
      [old, now],
      [now, old],
    ].entries()) {
      const id = `shared-${n}`;
      await create(first as Running, id);
      await say(second as Running, id, 'from the other one');
      await good((first as Running).ask(`${path}/${id}/stop`, { method: 'POST' }));
      await say(second as Running, id, 'start again');
      assert.deepEqual(await look(first as Running, id), await look(second as Running, id));
    }
    await old.stop();
    await say(now, 'a', 'goes on alone');
    await now.stop();
  });
});
