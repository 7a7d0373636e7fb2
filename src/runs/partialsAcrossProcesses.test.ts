// Subscribers of one process see what an agent writes in another one.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import {
  finishedTextOf,
  letAgentGo,
  openLiveStream,
  openTextOf,
  partialsOf,
  readLive,
} from '../../test/support/partials.ts';
import { startRuns } from '../../test/support/runs.ts';
import { startService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const env = { SESSION_API_KEY: 'the-same-key-everywhere', PARLEY_SECRET_KEY: '11'.repeat(32) };

/** Two machines with one database: the first runs agents, the second has the subscribers. */
async function startTwo(t: TestContext, runsEnv: Record<string, string> = {}) {
  const storage = await createStorage('postgres');
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(async () => {
    await storage.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const runs = await startRuns({ storage, env: { ...env, ...runsEnv } }, t);
  const reader = await startService({ storage: { ...storage, dataDir }, env }, t);
  return { ...runs, reader, letGo: (id: string, name: string) => letAgentGo(storage, id, name) };
}

describe('unfinished texts of a run in another process', () => {
  it('reach subscribers who were there before it or who join, and are replaced by their events', async (t) => {
    const { reader, create, say, turns, letGo } = await startTwo(t);
    const id = await create('say ready');
    const early = await openLiveStream(reader, id);
    await turns(id, 1);
    await say(id, 'chunks Hel|lo|@more| there|@end');
    await until('the beginning is there', () => openTextOf(early) === 'Hello');
    const late = await openLiveStream(reader, id);
    await until('who joins has it', () => openTextOf(late) === 'Hello');
    await letGo(id, 'more');
    for (const stream of [early, late])
      await until('the rest is there', () => openTextOf(stream) === 'Hello there');
    await letGo(id, 'end');
    await turns(id, 2);
    for (const stream of [early, late]) {
      await until('the event is there', () => finishedTextOf(stream) === 'readyHello there');
      assert.equal(openTextOf(stream), '');
    }
  });

  it('never come after their event, however the two arrive', async (t) => {
    const { reader, create, letGo, turns } = await startTwo(t);
    const texts = Array.from({ length: 20 }, (_, i) => `chunks a${i}|b${i}|c${i}\nprint o${i}|p${i}`);
    const id = await create(['chunks first|@more', ...texts].join('\n'));
    const stream = await openLiveStream(reader, id);
    await until('a partial is there', () => openTextOf(stream) === 'first');
    await letGo(id, 'more');
    await turns(id, 1);
    await until('all events are there', () => readLive(stream).events.some(isTurnEnd));
    await until('all texts are gone', () => openTextOf(stream) === '');
    const ended = new Set<string>();
    for (const { event, data } of stream.frames()) {
      const { of, partial, observation, tool_call_id: call } = JSON.parse(data);
      if (event === 'partial') assert.ok(!ended.has(of) || JSON.parse(data).text === '', of);
      else if (partial !== undefined) ended.add(partial.of);
      else if (observation !== undefined) ended.add(call);
    }
  });

  it('are gone when the conversation is stopped', async (t) => {
    const { reader, create, stop } = await startTwo(t);
    const id = await create('print working\\n|@never');
    const stream = await openLiveStream(reader, id);
    await until('it is there', () => openTextOf(stream) === 'working\n');
    await stop(id);
    await until('it is gone', () => openTextOf(stream) === '');
  });

  it('are missing if the process cannot be reached, and events still arrive', async (t) => {
    const { reader, create, reaches, turns, letGo } = await startTwo(t, {
      PARLEY_NODE_URL: 'http://127.0.0.1:9',
    });
    const id = await create('chunks Hello|@end');
    const stream = await openLiveStream(reader, id);
    await reaches(id, 'RUNNING');
    await letGo(id, 'end');
    await turns(id, 1);
    await until('the event is there', () => finishedTextOf(stream) === 'Hello');
    assert.deepEqual(partialsOf(stream), []);
  });

  it('are found when the run begins again after the stream was opened', async (t) => {
    const { reader, create, say, stop, turns, reaches, letGo } = await startTwo(t);
    const id = await create('say ready');
    await turns(id, 1);
    await stop(id);
    await reaches(id, 'STOPPED');
    const stream = await openLiveStream(reader, id);
    await say(id, 'chunks Hello|@end');
    await until('it is there', () => openTextOf(stream) === 'Hello');
    await letGo(id, 'end');
    await turns(id, 2);
  });

  it('are not shown to callers of the route between processes, 404', async (t) => {
    const { create, reaches, service, letGo, turns } = await startTwo(t);
    const id = await create('chunks Hello|@end');
    await reaches(id, 'RUNNING');
    assert.equal((await service.ask(`/api/conversations/${id}/partials`)).status, 404);
    await letGo(id, 'end');
    await turns(id, 1);
  });
});

function isTurnEnd({ extras }: { readonly extras?: Readonly<Record<string, unknown>> }): boolean {
  return extras?.['agent_state'] === 'awaiting_user_input';
}
