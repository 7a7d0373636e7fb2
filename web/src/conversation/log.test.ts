import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { decodeEvent, ParleyError, type ParleyEvent } from '../../../src/client/parley.ts';
import { until } from '../../../test/support/until.ts';
import { createLog } from './log.ts';

type Options = Parameters<ReturnType<typeof createLog>['start']>[0];

function say(id: number): ParleyEvent {
  return decodeEvent({ id, source: 'agent', action: 'message', args: { content: `m${id}` } });
}

const proxy = () => new ParleyError('unexpected', 'a page', { status: 404 });

/** Each attempt gets the next of `reads` and `streams`: events or an error. Further streams stay silent. */
function followedLog(
  t: TestContext,
  { reads = [[]], streams = [] }: { reads?: (ParleyEvent[] | Error)[]; streams?: (ParleyEvent[] | Error)[] },
) {
  const log = createLog();
  const froms: (number | undefined)[] = [];
  const parley = {
    conversations: {
      trajectory: async () => {
        const read = reads.shift() ?? [];
        if (read instanceof Error) throw read;
        return { trajectory: read };
      },
    },
    events: async function* (
      _: string,
      { from, signal, onState }: Parameters<Options['parley']['events']>[1] = {},
    ) {
      froms.push(from);
      const stream = streams.shift() ?? [];
      if (stream instanceof Error) throw stream;
      onState?.('live');
      yield* stream;
      if (streams.length > 0) throw proxy();
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  } as unknown as Options['parley'];
  const states: string[] = [];
  t.after(
    log.start({ parley, id: 'c', retryMs: 1, onStream: (state) => states.push(state), onLive: () => {} }),
  );
  const texts = () => log.view().items.map((item) => (item.kind === 'message' ? item.text : item.kind));
  return { log, texts, froms, states };
}

describe('the log of a conversation', () => {
  it('keeps its items when the stream breaks, and continues where it stopped', async (t) => {
    const { log, texts, froms, states } = followedLog(t, {
      reads: [[say(0), say(1)]],
      streams: [[say(2)], proxy(), [say(3)]],
    });
    const seen: number[] = [];
    log.subscribe(() => seen.push(log.view().items.length));
    await until('all is there', () => texts().length === 4);
    assert.deepEqual(texts(), ['m0', 'm1', 'm2', 'm3']);
    assert.deepEqual(froms, [2, 3, 3]);
    assert.deepEqual([log.view().phase, log.view().error], ['live', undefined]);
    assert.ok(states.includes('reconnecting'));
    assert.deepEqual(seen, seen.toSorted());
  });

  it('retries by itself if the first request fails, and shows the error meanwhile', async (t) => {
    const { log, texts } = followedLog(t, { reads: [proxy(), [say(0)]] });
    const errors: unknown[] = [];
    log.subscribe(() => errors.push(log.view().error));
    await until('it is there', () => texts().length === 1);
    assert.equal((errors[0] as Error).message, 'a page');
  });

  it('ends if the conversation does not exist', async (t) => {
    const gone = new ParleyError('not_found', 'gone', { status: 404 });
    const { log } = followedLog(t, { reads: [gone] });
    await until('it is refused', () => log.view().phase === 'refused');
    assert.equal(log.view().error, gone);
  });
});
