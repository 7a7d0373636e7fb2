import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OpenSandbox } from '../sandbox/openSandbox.ts';
import { filesRecord, hadRemoteFiles, hasKeptFiles } from './keptFiles.ts';

const sandbox = (id?: string) => ({ files: id && { id, areNew: false, isVolume: true } }) as OpenSandbox;
const record = (node: string | null, volume: string | null) => ({
  workspace_node: node,
  workspace_volume: volume,
});

describe('the files in a sandbox', () => {
  it('are kept if the last run that had a session has used it, on any machine', () => {
    const recorded = record('node-1', filesRecord('node-1', sandbox('v1')));
    assert.ok(hadRemoteFiles(recorded));
    assert.ok(hasKeptFiles(recorded, sandbox('v1')));
  });

  it('are not kept if no run got so far, the volume is another one, or there is none', () => {
    assert.ok(!hasKeptFiles(record(null, null), sandbox('v1')));
    assert.ok(!hasKeptFiles(record('node-1', 'node-1 v1'), sandbox('v2')));
    assert.ok(!hasKeptFiles(record('node-1', 'node-1 v1'), sandbox()));
    assert.equal(filesRecord('node-1', sandbox()), null);
  });

  it('are not kept if a run without volumes, also one of an older version, was the last', () => {
    assert.ok(!hasKeptFiles(record('node-1', null), sandbox('v1')));
    const olderRun = record('node-2', 'node-1 v1');
    assert.ok(!hadRemoteFiles(olderRun));
    assert.ok(!hasKeptFiles(olderRun, sandbox('v1')));
  });
});
