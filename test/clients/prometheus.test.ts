// What Prometheus itself says about the metrics and the alerts, and that every metric of an alert exists.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { addServiceMetrics } from '../../src/metrics/serviceMetrics.ts';

const alerts = fileURLToPath(new URL('../../deploy/prometheus/parley-alerts.yml', import.meta.url));
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'promtool is not installed';

/** The metrics of a process that has done something of each kind. */
async function readMetrics(): Promise<string> {
  const metrics = createMetrics();
  addServiceMetrics(metrics, {
    readBacklog: async () => ({ running: 1, waiting: 2, waitingMs: 3_000 }),
    runs: () => 1,
    slots: 4,
    subscribers: () => 5,
  });
  metrics.requests.observe(['GET', '/api/conversations/:id', 200], 0.002);
  metrics.claims.add(['start']);
  metrics.runEnds.add(['run']);
  metrics.modelRequests.add(['openai']);
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
