// Texts of a run in another process, which answers in every way that a broken one can.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { createLivePartials } from '../events/partials/livePartials.ts';
import { systemClock } from '../process/clock.ts';
import { createRemotePartials } from './remotePartials.ts';

const conversation = { userId: 1, id: 'c', key: 1 };
const partial = { of: 'm', kind: 'message', from: 0, text: 'Hello' };

/** Each request gets the next answer, and later ones the last. */
async function follow(t: TestContext, ...answers: readonly ((response: ServerResponse) => void)[]) {
  let asked = 0;
  const { url } = await listenOnLoopback(t, (_, response) =>
    answers[Math.min(asked++, answers.length - 1)]?.(response),
  );
  const remote = createRemotePartials({
    nodes: { findRunLocation: async () => ({ runId: 'r', urls: [url] }), sign: () => 'token' },
    livePartials: createLivePartials(),
    nextId: () => 'request',
    clock: systemClock,
    times: { searchMs: 10, retryMaxMs: 10 },
  });
  const seen: string[] = [];
  const subscription = remote.subscribe(conversation, {
    add: (partials) => seen.push(...partials.map(({ text }) => text)),
    reset: () => seen.push('reset'),
  });
  t.after(async () => {
    subscription.close();
    await remote.close();
  });
  return { seen, asked: () => asked };
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`;
/** Stays open, as the response of a process that has the run does. */
const send =
  (...values: readonly unknown[]) =>
  (response: ServerResponse) =>
    void response.writeHead(200).write(values.map(line).join(''));

describe('texts of a run in another process', () => {
  it('are asked for again if it answers 404, whether it ends its response or not', async (t) => {
    const { seen } = await follow(
      t,
      (response) => void response.writeHead(404).end('{}'),
      (response) => void response.writeHead(404).write('{'),
      send({ run: 'r' }, { partials: [partial] }),
    );
    await until('they are there', () => seen.at(-1) === 'Hello');
  });

  it('are gone when the connection breaks, or when it sends no JSON, and come again', async (t) => {
    const { seen } = await follow(
      t,
      (response) => {
        send({ run: 'r' }, { partials: [partial] })(response);
        setTimeout(() => response.destroy(), 50);
      },
      (response) => void response.writeHead(200).write('not JSON\n'),
      send({ run: 'r' }, { reset: true, partials: [{ ...partial, text: 'again' }] }),
    );
    await until('they are there again', () => seen.at(-1) === 'again');
    assert.equal(seen.indexOf('Hello') < seen.indexOf('reset'), true);
  });
});
