// docs/metrics.md is the list of all metrics: it is compared with what /metrics returns.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startService } from '../../test/support/service.ts';
import { createMetrics } from './metrics.ts';
import { addServiceMetrics } from './serviceMetrics.ts';

const docs = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const firstCode = (text: string) => /`([^`]+)`/.exec(text)?.[1];

/** The metrics in the tables, with their labels: `name`, `other` | `label`: `value`; `other label` | … */
function documented(): [string, string[]][] {
  return [...docs.matchAll(/^\| (`parley_.*?) \| (.*?) \| /gm)].flatMap(([, names = '', labels = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = '']): [string, string[]] => [
      name,
      labels.split(';').flatMap((label) => firstCode(label) ?? []),
    ]),
  );
}

const byName = (a: [string, unknown], b: [string, unknown]) => a[0].localeCompare(b[0]);

describe('docs/metrics.md', () => {
  it('has every metric of /metrics, and no other', async (t) => {
    const { ask } = await startService({}, t);
    const { text } = await ask('/metrics');
    const served = [...text.matchAll(/^# TYPE (parley_\w+) /gm)].map(([, name]) => name);
    assert.deepEqual(
      documented()
        .map(([name]) => name)
        .sort(),
      served.sort(),
    );
  });

  it('has the labels of each', () => {
    const metrics = createMetrics();
    const zero = () => 0;
    addServiceMetrics(metrics, {
      readBacklog: async () => ({ running: 0, waiting: 0, waitingMs: 0 }),
      readOutboxAge: async () => ({ oldestMs: 0, overdueMs: 0 }),
      readBackupAge: async () => 0,
      readDiskFree: async () => 0,
      readSnapshotStore: async () => true,
      runs: zero,
      slots: 0,
      workspaceBytes: zero,
      snapshotsOverdueMs: zero,
      subscribers: zero,
    });
    const declared = metrics.list().map(({ name, labels }): [string, string[]] => [name, [...labels]]);
    assert.deepEqual(documented().sort(byName), declared.sort(byName));
  });
});
