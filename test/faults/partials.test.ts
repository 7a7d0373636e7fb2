// What an agent was writing when its process died vanishes, and what the next one writes appears.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { finishedTextOf, letAgentGo, openLiveStream, openTextOf } from '../support/partials.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

describe('unfinished texts of a process that is killed', { timeout: 300_000 }, () => {
  it('vanish from the streams of another process, which follows the run to the next one', async (t) => {
    const { site, serve } = await createWorkerSite('postgres', t);
    const [first, reader] = [await serve(), await serve({ PARLEY_ROLE: 'api' })];
    await first.set({ agent: 'fake' });
    const id = await first.create('chunks Hello|@never');
    const stream = await openLiveStream(reader, id);
    await until('its text is there', () => openTextOf(stream) === 'Hello');
    first.send('SIGKILL');
    await first.ended();
    await until('its text is gone', () => openTextOf(stream) === '');
    assert.equal(finishedTextOf(stream), '');
    await serve();
    await reader.turns(id, 2);
    await reader.say(id, 'chunks Here| again|@end');
    await until('the text of the next run is there', () => openTextOf(stream) === 'Here again');
    await letAgentGo(site.storage, id, 'end');
    await until('its event is there', () => finishedTextOf(stream).endsWith('Here again'));
    assert.equal(openTextOf(stream), '');
  });
});
