import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { startService } from '../../test/support/service.ts';
import { loadProfiles } from './profiles.ts';
import type { AgentInfo } from './schema.ts';

const ghost = {
  id: 'ghost',
  name: 'Ghost',
  protocol: 'anthropic',
  install: 'cargo install ghost',
  programs: [{ command: 'parley-ghost-agent', args: [], env: {} }],
};

describe('GET /api/agents', () => {
  it('says which agents are installed, how to install the others, and sees an installation at once', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    writeFileSync(join(storage.dataDir, 'agents.json'), JSON.stringify({ agents: [ghost] }));
    const service = await startService({ storage, env: { PARLEY_ROLE: 'all' } });
    t.after(service.stop);
    const list = async (): Promise<AgentInfo[]> => {
      const { status, body } = await service.ask('/api/agents');
      assert.equal(status, 200);
      return body.agents;
    };
    const find = async (id: string) => (await list()).find((agent) => agent.id === id);
    assert.deepEqual(
      (await list()).map(({ id }) => id),
      [...loadProfiles().map(({ id }) => id), 'ghost'],
    );
    const builtin = await find('builtin');
    assert.deepEqual([builtin?.installed, builtin?.missing, builtin?.asks], [true, null, 'all']);
    assert.deepEqual(await find('ghost'), {
      id: 'ghost',
      name: 'Ghost',
      installed: false,
      version: null,
      asks: null,
      install: 'cargo install ghost',
      missing:
        'The agent ghost (Ghost) is not installed on this machine. Install it with: cargo install ghost',
    });

    const folder = join(storage.dataDir, 'agents/ghost');
    mkdirSync(join(folder, '1.0.0-ab/bin'), { recursive: true });
    writeFileSync(join(folder, '1.0.0-ab/bin/parley-ghost-agent'), '#!/bin/sh\n', { mode: 0o755 });
    const record = { folder: '1.0.0-ab', packages: [], installed_at: '2026-01-01T00:00:00.000Z' };
    writeFileSync(join(folder, 'installed.json'), JSON.stringify(record));
    assert.equal((await find('ghost'))?.installed, true);
    const { text } = await service.ask('/api/agents');
    assert.ok(!text.includes(storage.dataDir), 'it contains no path of the machine');
  });

  it('does not claim anything if conversations run elsewhere', async (t) => {
    const { ask } = await startService({ env: { PARLEY_ROLE: 'api' } }, t);
    const { body } = await ask('/api/agents');
    for (const { installed, missing } of body.agents) assert.deepEqual([installed, missing], [null, null]);
  });

  it('needs an API key, 401, and leaves the list of names as it is', async (t) => {
    const { ask } = await startService({}, t);
    assert.equal((await ask('/api/agents', { key: null })).status, 401);
    const names = (await ask('/api/options/agents')).body;
    const { agents } = (await ask('/api/agents')).body;
    assert.deepEqual(names, ['CodeActAgent', ...agents.map(({ id }: AgentInfo) => id)]);
  });
});
