import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createSite } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { until } from '../support/until.ts';

describe('files that were left open for the service', { timeout: 240_000 }, () => {
  it('are closed at its start, so that no agent gets them', {
    skip: !['/proc/self/fd', '/bin/bash'].every(existsSync) && 'there is no /proc, or no bash',
  }, async (t) => {
    const site = await createSite('sqlite', t);
    // A high number: those below 16 Node itself keeps from what it starts.
    const start = `exec 200<"$1"; exec "$2" ${mainFile} serve`;
    const args = ['-c', start, 'bash', site.storage.dataDir, process.execPath];
    const service = site.spawn('bash', args, site.environment());
    await until('it listens', () => service.listeningUrl());
    const folder = `/proc/${service.pid}/fd`;
    const open = readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
    assert.ok(!open.includes(site.storage.dataDir), open.join());
    assert.ok(open.some((path) => path.endsWith('parley.db')));
  });
});
