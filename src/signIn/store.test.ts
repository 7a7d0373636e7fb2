import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { minuteMs, openKeys } from '../../test/support/keys.ts';
import { createSessionCredential } from '../keys/credentials.ts';
import { deleteOldSessions, listSessions } from '../keys/sessionStore.ts';
import { ownerName } from '../users/owner.ts';
import { ensureUser } from '../users/store.ts';
import { randomId } from './service.ts';
import { createSession, type NewSession } from './store.ts';

const startedAt = Date.UTC(2026, 0, 1);

/** The next session of one account. */
function newSession(changes: Partial<NewSession> = {}) {
  const { id, text, hash } = createSessionCredential();
  const session: NewSession = {
    issuer: 'https://login.example.com',
    subject: 'a-1',
    name: null,
    email: null,
    identityId: randomId(),
    userNames: ['ada'],
    isAdmin: false,
    signIn: randomId(),
    sessionId: id,
    hash,
    browser: '',
    at: startedAt,
    idleMs: 10 * minuteMs,
    lastsMs: 60 * minuteMs,
    ...changes,
  };
  return { session, token: text };
}

for (const kind of databaseKinds)
  describe(`stored sessions on ${kind}`, () => {
    it('are created once for each sign-in, even if the provider accepted its code twice', async (t) => {
      const database = await openTestDatabase(kind, t);
      const { session } = newSession();
      assert.equal(typeof (await database.run(createSession, session)), 'object');
      const again = newSession({ signIn: session.signIn }).session;
      assert.equal(await database.run(createSession, again), 'used');
    });

    it('create one user, if several first sign-ins of an account arrive at once', async (t) => {
      const database = await openTestDatabase(kind, t);
      await database.run(ensureUser, ownerName);
      const all = await Promise.all(
        Array.from({ length: 8 }, () =>
          database.run(createSession, newSession({ userNames: ['ada', 'ada-2', 'ada-3'] }).session),
        ),
      );
      assert.deepEqual(
        new Set(all.map((created) => (typeof created === 'string' ? created : created.user))),
        new Set(['ada']),
      );
    });

    it('are limited for each user: a new one ends the oldest', async (t) => {
      const database = await openTestDatabase(kind, t);
      const ids: string[] = [];
      let userId = 0;
      for (let i = 0; i < 52; i++) {
        const { session } = newSession({ at: startedAt + i });
        const created = await database.run(createSession, session);
        if (typeof created === 'object') ({ userId } = created);
        ids.push(session.sessionId);
      }
      const live = await database.run(listSessions, { userId, at: startedAt + minuteMs });
      assert.deepEqual(
        live.map(({ id }) => id),
        ids.slice(2).reverse(),
      );
    });

    it('expire if they are not used, and after their time even if they are', async (t) => {
      const database = await openTestDatabase(kind, t);
      let at = startedAt;
      const keys = await openKeys(database, () => at, t);
      const other = await openKeys(database, () => at, t);
      const { session, token } = newSession();
      await database.run(createSession, session);
      const isAccepted = async () => (await keys.authenticate(token, 'session')) !== undefined;
      // Each use extends it, and so do uses that another process has recorded.
      for (let minutes = 0; minutes < 60; minutes += 9) {
        at = startedAt + minutes * minuteMs;
        const user = minutes % 2 === 0 ? keys : other;
        assert.ok(await user.authenticate(token, 'session'), `after ${minutes} minutes`);
        await user.flushUses();
      }
      at = startedAt + 60 * minuteMs;
      assert.equal(await isAccepted(), false);
      assert.equal(await keys.isGood(session.sessionId), false);

      const { session: idle, token: idleToken } = newSession({ at });
      await database.run(createSession, idle);
      assert.ok(await keys.authenticate(idleToken, 'session'));
      at += 10 * minuteMs;
      assert.equal(await keys.authenticate(idleToken, 'session'), undefined);
      assert.equal(await keys.isGood(idle.sessionId), false);
    });

    it('are used until a moment ago, even if that is not stored yet', async (t) => {
      const database = await openTestDatabase(kind, t);
      let at = startedAt;
      const keys = await openKeys(database, () => at, t);
      const { session, token } = newSession();
      await database.run(createSession, session);
      for (let i = 0; i < 3; i++) {
        assert.ok(await keys.authenticate(token, 'session'));
        at += 9 * minuteMs;
      }
      await keys.flushUses();
    });

    it('are deleted a while after they have ended', async (t) => {
      const database = await openTestDatabase(kind, t);
      await database.run(createSession, newSession().session);
      assert.equal(await database.run(deleteOldSessions, { before: startedAt }), 0);
      assert.equal(await database.run(deleteOldSessions, { before: startedAt + 11 * minuteMs }), 1);
    });
  });
