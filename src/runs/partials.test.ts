// Text and output reach subscribers while they are written, masked, and are gone when their event comes.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import {
  finishedTextOf,
  letAgentGo,
  openLiveStream,
  openTextOf,
  partialsOf,
  readLive,
} from '../../test/support/partials.ts';
import { type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';

async function start(t: TestContext, options: RunsOptions = {}) {
  const storage = await createStorage(options.kind ?? 'sqlite');
  const runs = await startRuns({ ...options, storage }, t);
  t.after(() => storage.remove());
  return {
    ...runs,
    open: (id: string, query?: string) => openLiveStream(runs.service, id, query),
    letGo: (id: string, name: string) => letAgentGo(storage, id, name),
  };
}

for (const kind of databaseKinds) {
  describe(`unfinished texts of a run on ${kind}`, () => {
    it('arrive before their event, which replaces them', async (t) => {
      const { create, open, letGo, turns } = await start(t, { kind });
      const id = await create('chunks Hel|lo|@more| there|@end');
      const stream = await open(id);
      await until('the beginning is there', () => openTextOf(stream) === 'Hello');
      assert.equal(finishedTextOf(stream), '');
      await letGo(id, 'more');
      await until('the rest is there', () => openTextOf(stream) === 'Hello there');
      await letGo(id, 'end');
      assert.deepEqual(await turns(id, 1), ['Hello there']);
      await until('the event is there', () => finishedTextOf(stream) === 'Hello there');
      assert.equal(openTextOf(stream), '');
      assert.ok(partialsOf(stream).every(({ id }) => id === undefined));
    });
  });
}

describe('unfinished texts of a run', () => {
  it('are sent only to readers who ask for them', async (t) => {
    const { create, open, letGo, turns } = await start(t);
    const id = await create('chunks Hello|@end');
    const [with_, without] = [await open(id), await open(id, '')];
    await until('it is there', () => openTextOf(with_) === 'Hello');
    await letGo(id, 'end');
    await turns(id, 1);
    await until('the event is there', () => finishedTextOf(without) === 'Hello');
    assert.deepEqual(partialsOf(without), []);
  });

  it('are sent from their beginning to a reader who joins in the middle or again', async (t) => {
    const { create, open, letGo, turns } = await start(t);
    const id = await create('ponder Why|@a| not|@b');
    const first = await open(id);
    await until('the beginning is there', () => openTextOf(first) === 'Why');
    first.cut();
    await letGo(id, 'a');
    const second = await open(id, `?partials=1&after=${first.lastId()}`);
    await until('all is there', () => openTextOf(second) === 'Why not');
    const [partial] = partialsOf(second);
    assert.equal(JSON.parse(partial?.data ?? '').from, 0);
    assert.equal(JSON.parse(partial?.data ?? '').kind, 'thought');
    await letGo(id, 'b');
    await turns(id, 1);
    await until('the event is there', () => finishedTextOf(second) === 'Why not');
    assert.equal(openTextOf(second), '');
  });

  it('lose what is logged early, and nothing is doubled or missing', async (t) => {
    const { create, open, letGo, turns } = await start(t);
    const id = await create('chunks one\\n|two|@more| three\\n|four|@end');
    const stream = await open(id);
    await until('the first line is logged', () => finishedTextOf(stream) === 'one\n');
    await until('the second is open', () => openTextOf(stream) === 'two');
    const joined = await open(id);
    await until('a new reader has both', () => finishedTextOf(joined) + openTextOf(joined) === 'one\ntwo');
    await letGo(id, 'more');
    await letGo(id, 'end');
    await turns(id, 1);
    for (const one of [stream, joined]) {
      await until('all is logged', () => finishedTextOf(one) === 'one\ntwo three\nfour');
      assert.equal(openTextOf(one), '');
    }
  });

  for (const line of ['print', 'print-again'])
    it(`are the output of a command, however the agent sends it (${line})`, async (t) => {
      const { create, open, letGo, turns } = await start(t);
      const id = await create(`${line} a\\n|b\\n|@more|c\\n|@end`);
      const stream = await open(id);
      await until('the beginning is there', () => openTextOf(stream) === 'a\nb\n');
      const [output] = readLive(stream).open;
      const action = await until('its action is there', () =>
        readLive(stream).events.find(({ action: name }) => name === 'run'),
      );
      assert.deepEqual([output?.of, output?.kind], [action.tool_call_id, 'output']);
      await letGo(id, 'more');
      await until('more is there', () => openTextOf(stream) === 'a\nb\nc\n');
      await letGo(id, 'end');
      await turns(id, 1);
      await until('the event is there', () =>
        readLive(stream).events.some(({ observation }) => observation === 'run'),
      );
      assert.equal(openTextOf(stream), '');
    });

  it('are gone when the turn is cancelled, and what was written is in the log', async (t) => {
    const { create, open, stop, reaches } = await start(t);
    const id = await create('chunks unfinished|@never');
    const stream = await open(id);
    await until('it is there', () => openTextOf(stream) === 'unfinished');
    await stop(id);
    await reaches(id, 'STOPPED');
    await until('the event is there', () => finishedTextOf(stream) === 'unfinished');
    await until('the text is gone', () => openTextOf(stream) === '');
  });

  it('are masked, and hold back what may begin a secret', async (t) => {
    const { create, open, letGo, turns, service } = await start(t);
    const secret = 'S3CR3T-value-77';
    await service.ask('/api/secrets', { json: { name: 'TOKEN', value: secret } });
    const pieces = [...secret].join('|');
    const id = await create(
      `chunks x ${pieces.slice(0, 15)}|@more|${pieces.slice(16)}|@end\nprint ${pieces}|@out`,
    );
    const stream = await open(id);
    await until('the beginning is there', () => openTextOf(stream) === 'x ');
    await letGo(id, 'more');
    await until('the mask is there', () => openTextOf(stream) === 'x **********');
    await letGo(id, 'end');
    await until('the output is masked', () => openTextOf(stream) === '**********');
    await letGo(id, 'out');
    assert.deepEqual(await turns(id, 1), ['x **********']);
    assert.ok(!stream.text().includes('S3C'));
  });
});
