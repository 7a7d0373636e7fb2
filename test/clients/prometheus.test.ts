// What Prometheus itself says about the metrics and the alerts, and that every metric of an alert exists.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { addServiceMetrics } from '../../src/metrics/serviceMetrics.ts';

const alerts = fileURLToPath(new URL('../../deploy/prometheus/parley-alerts.yml', import.meta.url));
const alertTests = fileURLToPath(new URL('./alerts.test.yml', import.meta.url));
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'promtool is not installed';

/** The metrics of a process that has done something of each kind. */
async function readMetrics(): Promise<string> {
  const metrics = createMetrics();
  addServiceMetrics(metrics, {
    readBacklog: async () => ({ running: 1, waiting: 2, waitingMs: 3_000 }),
    readOutboxAge: async () => ({ oldestMs: 5_000, overdueMs: 1_000 }),
    readBackupAge: async () => 60_000,
    readDiskFree: async () => 10e9,
    readSnapshotStore: async () => true,
    runs: () => 1,
    slots: 4,
    workspaceBytes: () => 1_000_000,
    snapshotsOverdueMs: () => 2_000,
    subscribers: () => 5,
  });
  metrics.requests.observe(['GET', '/api/conversations/:id', 200], 0.002);
  metrics.commits.observe(['group'], 3);
  metrics.claims.add(['start']);
  metrics.starts.observe([], 2.5);
  metrics.snapshots.observe(['stored'], 0.4);
  metrics.snapshotFailures.add(['store']);
  metrics.snapshotBytes.add([], 70_000);
  metrics.snapshotRestores.add(['restored']);
  metrics.sandboxStarts.observe(['bubblewrap', 'started'], 0.02);
  metrics.partials.add(['sent'], 4);
  metrics.runEnds.add(['run']);
  metrics.backups.add(['done']);
  metrics.modelRequests.add(['openai']);
  metrics.modelFailures.add(['openai', 'timeout']);
  metrics.modelRetries.add(['openai']);
  metrics.spans.add(['exported']);
  metrics.modelSeconds.observe(['openai'], 3);
  metrics.modelTokens.add(['openai', 'input'], 100);
  metrics.modelCost.add(['openai'], 0.01);
  return (await metrics.read()).text;
}

describe('Prometheus', () => {
  it('accepts the alerts', { skip }, () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', alerts], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  });

  it('fires each alert when it should, and not before', { skip }, () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', alertTests], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
    const tested = readFileSync(alertTests, 'utf8');
    for (const [, name = ''] of readFileSync(alerts, 'utf8').matchAll(/alert: (\w+)/g))
      assert.ok(tested.includes(`alertname="${name}"`), `${name} has no test`);
  });

  it('accepts the metrics', { skip }, async () => {
    const input = (await readMetrics())
      .split('\n')
      // prom-client names two of its own metrics against the recommendations.
      .filter((line) => !/nodejs_active_(handles|requests|resources)_total/.test(line))
      .join('\n');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      encoding: 'utf8',
      input,
    });
    const complaints = (stdout + stderr).split('\n').filter((line) => line.startsWith('parley_'));
    assert.deepEqual(complaints, []);
    assert.notEqual(status, 1, stderr);
  });

  it('has every metric that an alert asks for', async () => {
    const text = await readMetrics();
    const asked = readFileSync(alerts, 'utf8').matchAll(/\b(?:parley|nodejs)_\w+/g);
    for (const [name] of asked) if (name !== 'parley_alerts') assert.ok(text.includes(`\n${name}`), name);
  });
});
