import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { createConnection, onReconnected } from './connection.ts';
import { createProbe } from './probe.ts';

describe('the connection', () => {
  it('stays lost after a restart until a stream is open', () => {
    const connection = createConnection();
    connection.report('reconnecting');
    connection.restart();
    connection.streamClosed();
    assert.deepEqual([connection.state(), connection.restartCount()], ['reconnecting', 1]);
    connection.report('live');
    assert.equal(connection.state(), 'back');
    // Clears the timer of the `back` state.
    connection.streamClosed();
    assert.equal(connection.state(), 'idle');
  });

  it('is not lost when a stream ends as expected', () => {
    const connection = createConnection();
    connection.report('live');
    connection.report('reconnecting');
    connection.expectEnd();
    connection.report('reconnecting');
    connection.streamClosed();
    connection.report('live');
    assert.equal(connection.state(), 'live');
  });

  it('reports once that it is restored', () => {
    const connection = createConnection();
    let restored = 0;
    const end = onReconnected(connection, () => restored++);
    connection.report('live');
    connection.report('reconnecting');
    connection.report('live');
    connection.report('live');
    assert.equal(restored, 1);
    end();
    connection.report('reconnecting');
    connection.report('live');
    assert.equal(restored, 1);
    connection.streamClosed();
  });
});

function probeWith(...answers: readonly boolean[]) {
  const left = [...answers];
  const seen: string[] = [];
  const probe = createProbe({
    everyMs: 1,
    check: async () => {
      if (left.shift() === false) throw new Error('gone');
      seen.push('answered');
    },
    onLost: () => seen.push('lost'),
    onFound: () => seen.push('found'),
  });
  return { probe, seen };
}

describe('a probe', () => {
  it('checks again until the service can be reached, and reports that', async () => {
    const { probe, seen } = probeWith(false, false, true);
    probe.start();
    await until('it is found', () => seen.includes('found'));
    assert.deepEqual(seen, ['lost', 'lost', 'answered', 'found']);
  });

  it('reports nothing if the service can be reached at once', async () => {
    const { probe, seen } = probeWith(true);
    probe.start();
    await until('it has checked', () => seen.includes('answered'));
    await new Promise(setImmediate);
    assert.deepEqual(seen, ['answered']);
  });

  it('reports nothing after it was stopped', async () => {
    const { probe, seen } = probeWith(false);
    probe.start();
    probe.stop();
    await new Promise(setImmediate);
    assert.deepEqual(seen, []);
  });
});
