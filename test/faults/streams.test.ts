import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { createSite, type Service, startWithinMs } from '../support/process.ts';
import { type Frame, openStream, type Stream, untilClosed } from '../support/stream.ts';
import { until } from '../support/until.ts';

const rounds = 3;
const writers = 4;
const acknowledgedMax = 40;
const path = '/api/conversations';

interface Sent {
  readonly words: string;
  acknowledged: boolean;
}

/** Sends messages from several clients until the process is killed, which happens at a random moment. */
async function writeAndKill(service: Service, id: string, round: number): Promise<Sent[]> {
  const all: Sent[] = [];
  const killAfter = randomInt(1, acknowledgedMax);
  let acknowledged = 0;
  let killed = false;

  // Each client ends with a message that was not answered.
  async function loop(): Promise<void> {
    for (;;) {
      const sent = { words: `round ${round} message ${all.length}`, acknowledged: false };
      all.push(sent);
      try {
        const { status } = await service.ask(`${path}/${id}/message`, { json: { message: sent.words } });
        assert.equal(status, 200);
        sent.acknowledged = true;
        acknowledged += 1;
      } catch (error) {
        if (killed && !(error instanceof assert.AssertionError)) return;
        throw error;
      }
    }
  }

  async function kill(): Promise<void> {
    await until('enough is acknowledged', () => acknowledged >= killAfter, startWithinMs);
    killed = true;
    service.send('SIGKILL');
    await service.ended();
  }

  await Promise.all([kill(), ...Array.from({ length: writers }, loop)]);
  return all;
}

function follow({ url, key }: Service, id: string, seen: readonly Frame[]): Promise<Stream> {
  const lastEventId = seen.at(-1)?.id;
  return openStream(url, `${path}/${id}/events/stream`, {
    key,
    ...(lastEventId === undefined ? {} : { lastEventId }),
  });
}

function checkSeen(seen: readonly Frame[], sent: readonly Sent[]): void {
  assert.deepEqual(
    seen.map(({ id }) => Number(id)),
    seen.map((_, i) => i),
  );
  const words = seen.map(({ data }) => String(JSON.parse(data).message));
  for (const one of sent) {
    const times = words.filter((word) => word === one.words).length;
    assert.ok(times === 1 || (times === 0 && !one.acknowledged), `${one.words} was seen ${times} times`);
  }
}

describe('two processes on one PostgreSQL', { timeout: 240_000 }, () => {
  it('show who follows the one what is written through the other', async (t) => {
    const site = await createSite('postgres', t);
    const [first, second] = [await site.serve(), await site.serve()];
    const { key } = first;
    const { body } = await first.ask(path, { json: {} });
    const stream = await openStream(second.url, `${path}/${body.conversation_id}/events/stream`, { key });
    const words = Array.from({ length: 20 }, (_, i) => `message ${i}`);
    for (const message of words) {
      const { status } = await first.ask(`${path}/${body.conversation_id}/message`, { json: { message } });
      assert.equal(status, 200);
    }
    await until('all of it', () => stream.frames().length === words.length + 1);
    const seen = stream.frames().map(({ data }) => String(JSON.parse(data).message));
    assert.deepEqual(seen.slice(1), words);
    stream.cut();
  });
});

for (const kind of databaseKinds) {
  describe(`a service on ${kind} that is killed while it is followed`, { timeout: 240_000 }, () => {
    it('shows who comes again every acknowledged message once, in order and without a gap', async (t) => {
      const site = await createSite(kind, t);
      let service = await site.serve();
      const { body } = await service.ask(path, { json: {} });
      const id = body.conversation_id;
      const seen: Frame[] = [];
      const sent: Sent[] = [];
      for (let round = 0; round < rounds; round++) {
        const stream = await follow(service, id, seen);
        sent.push(...(await writeAndKill(service, id, round)));
        await untilClosed(stream);
        seen.push(...stream.frames());
        service = await site.serve();
      }
      const { body: whole } = await service.ask(`${path}/${id}/trajectory`);
      const stream = await follow(service, id, seen);
      const missing = whole.trajectory.length - seen.length;
      await until('the rest comes', () => stream.frames().length >= missing);
      seen.push(...stream.frames());
      stream.cut();
      checkSeen(seen, sent);
      assert.deepEqual(
        seen.map(({ data }) => JSON.parse(data)),
        whole.trajectory,
      );
      assert.ok(sent.filter(({ acknowledged }) => acknowledged).length >= rounds);
    });
  });
}
