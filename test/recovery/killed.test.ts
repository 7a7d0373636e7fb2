import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { databaseKinds } from '../support/databases.ts';
import { countStrays, storedConversations } from '../support/inspect.ts';
import { createSite, type Service, type Site, startWithinMs } from '../support/process.ts';
import { until } from '../support/until.ts';

const rounds = 4;
const clients = 24;
const acknowledgedMax = 150;
const lateMsMax = 20;
const replayedEvents = 130;

interface Sent {
  /** The first message, and so the title: it finds the conversation in the database. */
  readonly label: string;
  readonly conversationId: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Undefined where no answer came. */
  answeredId: string | undefined;
}

const replay = JSON.stringify(
  Array.from({ length: replayedEvents }, (_, i) => ({ action: 'message', message: `event ${i}` })),
);

function createRequest(number: number): Sent {
  const label = `request ${randomBytes(6).toString('hex')}`;
  return {
    label,
    conversationId: number % 3 === 0 ? `own-${label.slice(8)}` : undefined,
    idempotencyKey: number % 3 === 1 ? `key ${label}` : undefined,
    answeredId: undefined,
  };
}

async function send(service: Service, sent: Sent): Promise<string> {
  const { status, text, body } = await service.ask('/api/conversations', {
    json: {
      initial_user_msg: sent.label,
      // Every fifth or so is of many statements, so that a kill can fall between them.
      ...(sent.label.endsWith('0') || sent.label.endsWith('8') ? { replay_json: replay } : {}),
      ...(sent.conversationId === undefined ? {} : { conversation_id: sent.conversationId }),
    },
    headers: sent.idempotencyKey === undefined ? {} : { 'idempotency-key': sent.idempotencyKey },
  });
  assert.equal(status, 200, text);
  return body.conversation_id;
}

/** Sends without pause from many clients until the process is killed. Returns all that was sent. */
async function loadAndKill(service: Service): Promise<Sent[]> {
  const all: Sent[] = [];
  const killAfter = randomInt(1, acknowledgedMax);
  let acknowledged = 0;
  let killed = false;

  // Each client ends with a request that was not answered.
  async function loop(): Promise<void> {
    for (;;) {
      const sent = createRequest(all.length);
      all.push(sent);
      try {
        sent.answeredId = await send(service, sent);
        acknowledged += 1;
      } catch (error) {
        if (killed && !(error instanceof assert.AssertionError)) return;
        throw error;
      }
    }
  }

  async function kill(): Promise<void> {
    await until('enough is acknowledged', () => acknowledged >= killAfter, startWithinMs);
    await wait(randomInt(lateMsMax));
    killed = true;
    service.send('SIGKILL');
    await service.ended();
  }

  await Promise.all([kill(), ...Array.from({ length: clients }, loop)]);
  return all;
}

async function checkStored(site: Site, sent: readonly Sent[]): Promise<void> {
  const stored = await storedConversations(site.storage);
  const byTitle = new Map(stored.map((conversation) => [conversation.title, conversation]));
  assert.equal(byTitle.size, stored.length, 'a request is stored twice');
  for (const { label, answeredId } of sent)
    if (answeredId !== undefined) assert.equal(byTitle.get(label)?.id, answeredId, label);
  for (const { title, events, first, last, next_event } of stored) {
    assert.ok(events > 0, `${title} has no events`);
    assert.deepEqual([first, last, next_event], [0, events - 1, events], `${title} has a gap`);
  }
  assert.equal(await countStrays(site.storage), 0);
}

/** Sends again all that may be sent again; each must find or make the one conversation. */
async function retry(service: Service, sent: readonly Sent[]): Promise<void> {
  const safe = sent.filter((one) => one.conversationId ?? one.idempotencyKey);
  const queue = [...safe];
  async function loop(): Promise<void> {
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      const id = await send(service, one);
      assert.equal(id, one.answeredId ?? one.conversationId ?? id, one.label);
      one.answeredId = id;
    }
  }
  await Promise.all(Array.from({ length: clients }, loop));
}

for (const kind of databaseKinds) {
  describe(`a service on ${kind} that is killed under load`, { timeout: 240_000 }, () => {
    it('keeps every acknowledged creation once and whole, and takes every retry, 200', async (t) => {
      const site = await createSite(kind, t);
      const all: Sent[] = [];
      let service = await site.serve();
      for (let round = 0; round < rounds; round++) {
        const sent = await loadAndKill(service);
        all.push(...sent);
        service = await site.serve();
        await checkStored(site, all);
        await retry(service, sent);
        await checkStored(site, all);
      }
      await retry(service, all);
      await checkStored(site, all);
    });
  });

  describe(`a first start on ${kind} that is killed`, { timeout: 240_000 }, () => {
    it('leaves nothing that stops the next start, and an owner key that works', async (t) => {
      for (const delayMs of [150, 300, 450]) {
        const site = await createSite(kind, t);
        const first = site.begin();
        await wait(delayMs + randomInt(150));
        first.send('SIGKILL');
        await first.ended();
        const next = await site.serve();
        assert.equal((await next.ask('/api/settings')).status, 200, `killed after ${delayMs} ms`);
        next.send('SIGKILL');
        await next.ended();
      }
    });
  });
}
