import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { watch } from '../../test/support/until.ts';
import { createGate } from './gate.ts';

const bounds = { atOnceMax: 2, userAtOnceMax: 1, waitingMax: 2, userWaitingMax: 1 };
const { signal } = new AbortController();
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a gate', () => {
  it('admits as many as its limits allow, and the next when one leaves, of another user if one has enough', async () => {
    const gate = createGate(bounds, 'Too many.');
    const leaveFirst = await gate.enter(1, signal);
    const again = watch(gate.enter(1, signal));
    const leaveOther = await gate.enter(2, signal);
    const third = watch(gate.enter(3, signal));
    leaveOther();
    leaveOther();
    await turn();
    assert.deepEqual([again.settled(), third.settled()], [false, true]);
    leaveFirst();
    await again.promise;
  });

  it('refuses callers beyond its queue limits', async () => {
    const gate = createGate(bounds, 'Too many.');
    for (const user of [1, 2]) await gate.enter(user, signal);
    watch(gate.enter(1, signal));
    await assert.rejects(gate.enter(1, signal), { code: 'overloaded', retryAfterS: 1 });
    watch(gate.enter(2, signal));
    await assert.rejects(gate.enter(3, signal), { code: 'overloaded' });
  });

  it('removes callers that give up', async () => {
    const gate = createGate(bounds, 'Too many.');
    const leave = await gate.enter(1, signal);
    const impatient = new AbortController();
    const waiting = gate.enter(1, impatient.signal);
    impatient.abort();
    await assert.rejects(waiting, { code: 'malformed_request' });
    await assert.rejects(gate.enter(1, impatient.signal), { code: 'malformed_request' });
    leave();
    await gate.enter(1, signal);
  });
});
