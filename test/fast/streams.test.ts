// Writers and readers at once, against the one promise of a log: each reader sees each event once and in order.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { createStorage, databaseKinds, withPostgres } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { startService, type TestService } from '../support/service.ts';
import { type Frame, openStream, untilFrames } from '../support/stream.ts';
import { until } from '../support/until.ts';

const path = '/api/conversations';
const runs = 15;

type Action = 'say' | 'stop' | 'start';

interface Writer {
  readonly conversation: number;
  readonly service: number;
  readonly actions: readonly Action[];
}

interface Reader {
  readonly conversation: number;
  readonly service: number;
  /** After how many characters each of its connections is cut; the last one is not. */
  readonly cuts: readonly number[];
}

const conversation = fc.nat({ max: 2 });
const service = fc.nat({ max: 1 });
const writer: fc.Arbitrary<Writer> = fc.record({
  conversation,
  service,
  actions: fc.array(fc.constantFrom<Action>('say', 'say', 'say', 'stop', 'start'), { maxLength: 12 }),
});
const reader: fc.Arbitrary<Reader> = fc.record({
  conversation,
  service,
  cuts: fc.array(fc.integer({ min: 1, max: 1_500 }), { maxLength: 5 }),
});
const plan = fc.record({
  writers: fc.array(writer, { minLength: 1, maxLength: 4 }),
  readers: fc.array(reader, { minLength: 1, maxLength: 4 }),
});

/** Two services where the database can serve two, else the same one twice. All of it ends with the test. */
async function startServices(kind: DatabaseKind, t: TestContext): Promise<TestService[]> {
  const storage = await createStorage(kind);
  const first = await startService({ storage });
  const second = kind === 'postgres' ? await startService({ storage }) : first;
  t.after(async () => {
    await first.stop();
    await second.stop();
    await storage.remove();
  });
  return [first, second];
}

async function act({ ask }: TestService, id: string, action: Action, words: string): Promise<void> {
  const answer =
    action === 'say'
      ? await ask(`${path}/${id}/message`, { json: { message: words } })
      : await ask(`${path}/${id}/${action}`, { method: 'POST' });
  assert.equal(answer.status, 200, answer.text);
}

/** What a reader saw whole, over all of its connections. It comes again each time with the last id that it saw. */
async function readThrough(
  { url, key }: TestService,
  id: string,
  cuts: readonly number[],
  lengthOf: () => Promise<number | undefined>,
): Promise<Frame[]> {
  const seen: Frame[] = [];
  for (const cutAfter of [...cuts, Number.POSITIVE_INFINITY]) {
    const lastEventId = seen.at(-1)?.id;
    const stream = await openStream(url, `${path}/${id}/events/stream`, {
      key,
      cutAfter,
      ...(lastEventId === undefined ? {} : { lastEventId }),
    });
    const whole = async () => seen.length + stream.frames().length === (await lengthOf());
    await until('the cut or the end', async () => stream.closed() || (await whole()));
    stream.cut();
    seen.push(...stream.frames());
  }
  return seen;
}

for (const kind of databaseKinds) {
  describe(`readers and writers on ${kind}`, () => {
    it('see each event once and in order, wherever connections are cut', async (t) => {
      const services = await startServices(kind, t);
      const at = (index: number) => services[index] as TestService;
      await fc.assert(
        fc.asyncProperty(plan, async ({ writers, readers }) => {
          const ids: string[] = [];
          for (let i = 0; i < 3; i++) ids.push((await at(0).ask(path, { json: {} })).body.conversation_id);
          const idOf = (one: Writer | Reader) => String(ids[one.conversation]);
          const trajectories = new Map<string, unknown[]>();

          const writing = writers.map(async (one, w) => {
            for (const [i, action] of one.actions.entries())
              await act(at(one.service), idOf(one), action, `writer ${w} says ${i}`);
          });
          const written = Promise.all(writing).then(async () => {
            for (const id of ids)
              trajectories.set(id, (await at(0).ask(`${path}/${id}/trajectory`)).body.trajectory);
          });
          const reading = readers.map((one) =>
            readThrough(
              at(one.service),
              idOf(one),
              one.cuts,
              async () => trajectories.get(idOf(one))?.length,
            ),
          );
          await written;
          for (const [r, frames] of (await Promise.all(reading)).entries()) {
            const all = trajectories.get(idOf(readers[r] as Reader));
            assert.deepEqual(
              frames.map(({ data }) => JSON.parse(data)),
              all,
            );
            assert.deepEqual(
              frames.map(({ id }) => Number(id)),
              frames.map((_, i) => i),
            );
          }
        }),
        { numRuns: runs, endOnFailure: true },
      );
    });
  });

  describe(`a reader on ${kind} that does not read`, () => {
    const messages = 50;
    const messageBytes = 1_000_000;
    const bufferedBytesMax = 4_000_000;

    /** The answers to requests for streams, in the order in which they came. */
    function watchAnswers(t: TestContext): ServerResponse[] {
      const answers: ServerResponse[] = [];
      const take = (message: unknown) => {
        const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
        if (request.url?.includes('/events/stream')) answers.push(response);
      };
      subscribe('http.server.request.start', take);
      t.after(() => void unsubscribe('http.server.request.start', take));
      return answers;
    }

    it('costs little while 50 MB are written, and then gets everything once', async (t) => {
      const [first, second] = (await startServices(kind, t)) as [TestService, TestService];
      const answers = watchAnswers(t);
      const { body } = await first.ask(path, { json: {} });
      const id = body.conversation_id;
      const stream = await openStream(second.url, `${path}/${id}/events/stream`, { key: second.key });
      await untilFrames(stream, 1);
      stream.pause();
      const image_urls = [`data:image/png;base64,${'A'.repeat(messageBytes)}`];
      let buffered = 0;
      for (let i = 0; i < messages; i++) {
        const json = { message: 'look', image_urls };
        assert.equal((await first.ask(`${path}/${id}/message`, { json })).status, 200);
        buffered = Math.max(buffered, answers[0]?.writableLength ?? 0);
      }
      assert.ok(buffered > messageBytes && buffered < bufferedBytesMax, `${buffered} bytes wait`);
      stream.resume();
      const frames = await untilFrames(stream, messages + 1, 30_000);
      assert.deepEqual(
        frames.map((frame) => Number(frame.id)),
        Array.from({ length: messages + 1 }, (_, i) => i),
      );
      assert.ok(frames.slice(1).every(({ data }) => data.length > messageBytes));
      stream.cut();
    });
  });
}

describe('two services on one PostgreSQL', () => {
  const bells = "application_name = 'parley bell' and datname = current_database()";

  it('hear each other also while the connection is cut that they ring over', async (t) => {
    const [first, second] = (await startServices('postgres', t)) as [TestService, TestService];
    const listening = async () =>
      (await inspect(first.storage, `select pid from pg_stat_activity where ${bells}`)).length;
    await until('both listen', async () => (await listening()) === 2);
    const { body } = await first.ask(path, { json: {} });
    const id = body.conversation_id;
    const stream = await openStream(second.url, `${path}/${id}/events/stream`, { key: second.key });
    const changes = await openStream(second.url, '/api/events/stream', { key: second.key });
    await untilFrames(stream, 1);

    await withPostgres(String(first.storage.databaseUrl), (client) =>
      client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${bells}`),
    );
    await act(first, id, 'say', 'while it is cut');
    await act(first, id, 'stop', '');
    await untilFrames(stream, 3);
    await untilFrames(changes, 1);

    await until('both listen again', async () => (await listening()) === 2);
    await act(first, id, 'say', 'when it is back');
    const frames = await untilFrames(stream, 5);
    assert.deepEqual(
      frames.map((frame) => Number(frame.id)),
      [0, 1, 2, 3, 4],
    );
    await untilFrames(changes, 2);
    for (const one of [stream, changes]) one.cut();
  });
});
