// Several tool calls in one response of the model.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startRawBench } from '../../../test/support/agentBench.ts';
import { calling, type RawBody, type RawCall, run, saying } from '../../../test/support/rawModel.ts';
import { until } from '../../../test/support/until.ts';

const results = ({ messages }: RawBody): string[] =>
  messages.filter(({ role }: RawBody) => role === 'tool').map(({ content }: RawBody) => content);

/** Pages that wait until the test answers them. */
async function openPages(t: TestContext) {
  const open = new Map<string, ServerResponse>();
  const server = createServer(({ url = '' }, response) => void open.set(url, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    open,
    fetching: (path: string): RawCall => ({
      name: 'fetch_page',
      arguments: JSON.stringify({ url: origin + path }),
    }),
    answer: (path: string) =>
      open.get(path)?.writeHead(200, { 'content-type': 'text/plain' }).end(`page ${path}`),
  };
}

describe('tool calls of one response', () => {
  it('that only read run at the same time, and their results keep the order of the calls', async (t) => {
    const { open, fetching, answer } = await openPages(t);
    const bench = await startRawBench(t, [calling([fetching('/a'), fetching('/b')]), saying('Done.')]);
    const turn = bench.prompt('go');
    await until('both are open', async () => open.size === 2);
    const began = bench.updates.flatMap((update) =>
      update.sessionUpdate === 'tool_call_update' && update.status === 'in_progress'
        ? [update.toolCallId]
        : [],
    );
    assert.equal(new Set(began).size, 2);
    answer('/b');
    answer('/a');
    assert.equal(await turn, 'end_turn');
    const [first = '', second = ''] = results(bench.bodies[1]);
    assert.match(first, /page \/a$/);
    assert.match(second, /page \/b$/);
    assert.deepEqual(
      bench.ended().map(({ toolCallId }) => toolCallId),
      began,
    );
  });

  it('run at most eight at a time', async (t) => {
    const { open, fetching, answer } = await openPages(t);
    const paths = Array.from({ length: 10 }, (_, i) => `/${i}`);
    const bench = await startRawBench(t, [calling(paths.map(fetching)), saying('Done.')]);
    const turn = bench.prompt('go');
    await until('eight are open', async () => open.size === 8);
    const announced = bench.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call').length;
    assert.equal(announced, 8);
    for (const path of paths) {
      await until(`${path} is open`, async () => open.has(path));
      answer(path);
    }
    await turn;
    assert.equal(results(bench.bodies[1]).length, 10);
  });

  it('that change something run alone and in order', async (t) => {
    const { open, fetching, answer } = await openPages(t);
    const calls = [fetching('/a'), run('cat log; echo bash >log'), fetching('/b')];
    const bench = await startRawBench(t, [calling(calls), saying('Done.')]);
    writeFileSync(join(bench.cwd, 'log'), 'before\n');
    const turn = bench.prompt('go');
    await until('the first page is open', async () => open.size === 1);
    assert.equal(readFileSync(join(bench.cwd, 'log'), 'utf8'), 'before\n');
    answer('/a');
    await until('the second page is open', async () => open.has('/b'));
    assert.equal(readFileSync(join(bench.cwd, 'log'), 'utf8'), 'bash\n');
    answer('/b');
    await turn;
    assert.match(results(bench.bodies[1])[1] ?? '', /before/);
  });

  it('are all answered if the user stops the turn', async (t) => {
    const { open, fetching } = await openPages(t);
    const bench = await startRawBench(t, [calling([fetching('/a'), fetching('/b')]), saying('Here.')]);
    const turn = bench.prompt('go');
    await until('both are open', async () => open.size === 2);
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    await bench.prompt('and now?');
    assert.deepEqual(
      results(bench.bodies[1]).map((text) => /Stopped by the user/.test(text)),
      [true, true],
    );
  });
});
