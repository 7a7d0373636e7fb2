// Real agents in whole conversations with the scripted model: `npm run test:agents`. They are installed as `agents
// install` does it, each by its own test, so that one that cannot be installed does not affect the others.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type FoundAgent, findAgent } from '../../src/agents/find.ts';
import { installAgent, NoBinaryError } from '../../src/agents/install/install.ts';
import { findNpm } from '../../src/agents/install/npm.ts';
import type { Profile } from '../../src/agents/profileSchema.ts';
import { loadProfiles } from '../../src/agents/profiles.ts';
import { version as ownVersion } from '../../src/process/version.ts';
import { noBubblewrap } from '../support/sandboxes.ts';
import { drive, keys, refusedServers } from './drive.ts';
import { outcomesOf } from './outcomes.ts';
import { type Row, tableOf } from './table.ts';

/** Ids of agents, separated by commas. Default: all. */
const only = process.env['PARLEY_TEST_AGENTS']?.split(',');
const profiles = loadProfiles().filter(({ id }) => only?.includes(id) ?? true);

/** Keeps the installations for the next run. */
const kept = process.env['PARLEY_TEST_AGENTS_FOLDER'];
const agentsDir = kept ?? mkdtempSync(join(tmpdir(), 'parley-agents-'));

/** Installs the agent unless it is there in the version of its profile. */
async function ensureInstalled(profile: Profile, signal: AbortSignal): Promise<FoundAgent> {
  const found = await findAgent(profile, { agentsDir, path: '' });
  const [wanted] = profile.packages ?? [];
  if (!('lacks' in found) && (wanted === undefined || found.version === wanted.version)) return found;
  return installAgent({ profile, agentsDir, npm: findNpm(), signal, onDownload: () => {} });
}

describe('a conversation with a real agent', { skip: noBubblewrap }, () => {
  const rows: Row[] = [];

  after(() => {
    if (kept === undefined) rmSync(agentsDir, { recursive: true, force: true });
    console.log(`\n${tableOf(rows)}\n`);
  });

  for (const profile of profiles) {
    const { id, protocol } = profile;
    it(`has ${id} write, run, call tools, answer, and continue`, async (t) => {
      let found: FoundAgent;
      try {
        found = await ensureInstalled(profile, t.signal);
      } catch (error) {
        rows.push({ agent: id, version: '–', outcomes: (error as Error).message });
        if (error instanceof NoBinaryError) return t.skip(error.message);
        throw error;
      }
      const seen = await drive(t, {
        agent: id,
        protocol: protocol === 'any' ? 'anthropic' : protocol,
        agentsDir,
      });
      const outcomes = outcomesOf(seen);
      rows.push({ agent: id, version: found.version ?? ownVersion, outcomes });

      const { events, modelKeys, exchanges, requests, elsewhere, fault } = seen;
      const wrong = Object.entries(outcomes)
        .filter(([, why]) => why !== undefined)
        .map(([column]) => column);
      assert.deepEqual(wrong, refusedServers[id] ?? [], tableOf(rows));
      assert.equal(fault, undefined);
      assert.deepEqual(new Set(modelKeys), new Set([keys.model]), 'every request has the key of the user');
      assert.equal(requests, exchanges.length, 'every request is counted');
      const log = JSON.stringify(events);
      for (const key of Object.values(keys)) assert.ok(!log.includes(key), `${key} is in the log`);
      for (const key of [keys.model, keys.http]) assert.ok(!elsewhere.includes(key), `${key} is in a file`);
    });
  }
});
