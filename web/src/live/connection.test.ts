// What is said of the connection, and when streams are made anew.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { createConnection, onConnectedAgain } from './connection.ts';
import { createProbe } from './probe.ts';

describe('the connection', () => {
  it('stays lost over a restart of its streams, until one of them is there', () => {
    const connection = createConnection();
    connection.report('reconnecting');
    connection.restart();
    connection.forget();
    assert.deepEqual([connection.state(), connection.round()], ['reconnecting', 1]);
    connection.report('live');
    assert.equal(connection.state(), 'back');
    // Ends the clock of what is shown.
    connection.forget();
    assert.equal(connection.state(), 'idle');
  });

  it('is not lost by the end of a stream that had to end', () => {
    const connection = createConnection();
    connection.report('live');
    connection.report('reconnecting');
    connection.expectEnd();
    connection.report('reconnecting');
    connection.forget();
    connection.report('live');
    assert.equal(connection.state(), 'live');
  });

  it('tells once that it is there again', () => {
    const connection = createConnection();
    let told = 0;
    const end = onConnectedAgain(connection, () => told++);
    connection.report('live');
    connection.report('reconnecting');
    connection.report('live');
    connection.report('live');
    assert.equal(told, 1);
    end();
    connection.report('reconnecting');
    connection.report('live');
    assert.equal(told, 1);
    connection.forget();
  });
});

function probeOf(...answers: readonly boolean[]) {
  const left = [...answers];
  const seen: string[] = [];
  const probe = createProbe({
    everyMs: 1,
    ask: async () => {
      if (left.shift() === false) throw new Error('gone');
      seen.push('answered');
    },
    onLost: () => seen.push('lost'),
    onFound: () => seen.push('found'),
  });
  return { probe, seen };
}

describe('a probe', () => {
  it('asks again for as long as the service is lost, and then says that it is found', async () => {
    const { probe, seen } = probeOf(false, false, true);
    probe.start();
    await until('it is found', () => seen.includes('found'));
    assert.deepEqual(seen, ['lost', 'lost', 'answered', 'found']);
  });

  it('says nothing where the service is there', async () => {
    const { probe, seen } = probeOf(true);
    probe.start();
    await until('it has asked', () => seen.includes('answered'));
    await new Promise(setImmediate);
    assert.deepEqual(seen, ['answered']);
  });

  it('says nothing more once it has ended', async () => {
    const { probe, seen } = probeOf(false);
    probe.start();
    probe.end();
    await new Promise(setImmediate);
    assert.deepEqual(seen, []);
  });
});
