// The operator's notification command, with two processes that share the conversations.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const slots = 3;

describe('two processes with a notification command', { timeout: 300_000 }, () => {
  it('run it once for each approval request, in the process that runs the conversation', async (t) => {
    const { site, serve } = await createWorkerSite('postgres', t);
    const program = join(site.createDir(), 'notify');
    // One small write at the end of a file is not mixed with others.
    writeFileSync(
      program,
      '#!/bin/sh\nprintf "%s %s %s\\n" "$1" "$PARLEY_CONVERSATION_ID" "$PARLEY_EVENT_ID" >>"$0.log"\n',
    );
    chmodSync(program, 0o755);
    const env = (name: string) => ({
      PARLEY_NOTIFY_COMMAND: JSON.stringify([program, name]),
      PARLEY_SLOTS: String(slots),
    });
    const first = await serve(env('first'));
    await serve(env('second'));
    await first.set({ agent: 'fake', confirmation_mode: true });
    const ids: string[] = [];
    for (let i = 0; i < 2 * slots; i++) ids.push(await first.create(`ask execute rm ${i}`));
    const lines = () =>
      existsSync(`${program}.log`) ? readFileSync(`${program}.log`, 'utf8').trim().split('\n') : [];
    // Each of them waits for an answer and keeps its slot, so that both processes run some.
    await until('all are told', () => lines().length >= ids.length, 60_000);
    for (const id of ids)
      await first.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'allow' } });
    for (const id of ids) assert.deepEqual(await first.turns(id, 1), ['the answer was once']);
    const asked = await Promise.all(
      ids.map(async (id) => {
        const events = await first.events(id);
        const found = events.filter(({ args }) => args?.['confirmation_state'] === 'awaiting_confirmation');
        return found.map((event) => `${id} ${event.id}`);
      }),
    );
    const told = lines().map((line) => line.split(' '));
    assert.deepEqual(told.map(([, id, event]) => `${id} ${event}`).toSorted(), asked.flat().toSorted());
    assert.deepEqual(new Set(told.map(([name]) => name)), new Set(['first', 'second']));
  });
});
