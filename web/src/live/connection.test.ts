import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { createConnection, onReconnected } from './connection.ts';
import { createProbe } from './probe.ts';

describe('the connection', () => {
  it('stays lost after a restart until a stream is open', () => {
    const connection = createConnection();
    const stream = connection.stream('list');
    stream.report('reconnecting');
    connection.restart();
    stream.closed();
    assert.deepEqual([connection.state(), connection.restartCount()], ['reconnecting', 1]);
    stream.report('live');
    assert.equal(connection.state(), 'back');
    // Clears the timer of the `back` state.
    stream.closed();
    assert.equal(connection.state(), 'idle');
  });

  it('is lost while one of several streams is, or while a probe gets no answer', () => {
    const connection = createConnection();
    const [list, log] = [connection.stream('list'), connection.stream('log')];
    list.report('live');
    log.report('live');
    log.report('reconnecting');
    list.report('live');
    assert.equal(connection.state(), 'reconnecting');
    log.closed();
    assert.equal(connection.state(), 'back');
    connection.lost();
    log.report('live');
    assert.equal(connection.state(), 'reconnecting');
    list.report('live');
    assert.equal(connection.state(), 'back');
    list.closed();
    log.closed();
    assert.equal(connection.state(), 'idle');
  });

  it('is not lost when a stream ends as expected', () => {
    const connection = createConnection();
    const stream = connection.stream('log');
    stream.report('live');
    stream.report('reconnecting');
    connection.expectEnd('log');
    stream.report('reconnecting');
    assert.equal(connection.state(), 'idle');
    stream.closed();
    stream.report('live');
    assert.equal(connection.state(), 'live');
  });

  it('is not restored when the only lost stream has ended as expected', () => {
    const connection = createConnection();
    const [list, log] = [connection.stream('list'), connection.stream('log')];
    list.report('live');
    log.report('live');
    log.report('reconnecting');
    let restored = 0;
    onReconnected(connection, () => restored++);
    connection.expectEnd('log');
    log.closed();
    assert.deepEqual([connection.state(), restored], ['live', 0]);
    list.closed();
  });

  it('reports once that it is restored', () => {
    const connection = createConnection();
    const stream = connection.stream('list');
    let restored = 0;
    const end = onReconnected(connection, () => restored++);
    stream.report('live');
    stream.report('reconnecting');
    stream.report('live');
    stream.report('live');
    assert.equal(restored, 1);
    end();
    stream.report('reconnecting');
    stream.report('live');
    assert.equal(restored, 1);
    stream.closed();
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
    probe.stop();
    assert.deepEqual(seen.slice(0, 4), ['lost', 'lost', 'answered', 'found']);
  });

  it('reports nothing while the service can be reached, and goes on checking', async () => {
    const { probe, seen } = probeWith(true, true, false);
    probe.start();
    await until('it is lost', () => seen.includes('lost'));
    probe.stop();
    assert.deepEqual(seen.slice(0, 3), ['answered', 'answered', 'lost']);
  });

  it('reports nothing after it was stopped', async () => {
    const { probe, seen } = probeWith(false);
    probe.start();
    probe.stop();
    await new Promise(setImmediate);
    assert.deepEqual(seen, []);
  });
});
