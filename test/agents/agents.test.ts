// Real agents, installed from npm, in whole conversations against the scripted model. `npm run test:agents`.
import assert from 'node:assert/strict';
import { delimiter } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chooseAgent } from '../../src/agents/choose.ts';
import { loadProfiles } from '../../src/agents/profiles.ts';
import { version as ownVersion } from '../../src/process/version.ts';
import { noBubblewrap } from '../support/sandboxes.ts';
import { drive, keys } from './drive.ts';
import { type Installed, installAgents, type Package } from './install.ts';
import { outcomesOf } from './outcomes.ts';
import { type Row, tableOf } from './table.ts';
import { versions } from './versions.ts';

/** Ids of agents, with commas; absent: all. */
const only = process.env['PARLEY_TEST_AGENTS']?.split(',');
const profiles = loadProfiles().filter(({ id }) => only?.includes(id) ?? true);
function packageOf(id: string): Package | undefined {
  const version = versions[id];
  const name = profiles
    .find((profile) => profile.id === id)
    ?.install?.split(' ')
    .at(-1);
  return version === undefined || name === undefined ? undefined : { name, version };
}
const packages = profiles.flatMap(({ id }) => packageOf(id) ?? []);

describe('a conversation with a real agent', { skip: noBubblewrap }, () => {
  let installed: Installed | undefined;
  const rows: Row[] = [];

  before(async () => {
    installed = await installAgents(packages, process.env['PARLEY_TEST_AGENTS_FOLDER']);
    process.env['PATH'] = [...installed.bins, process.env['PATH']].join(delimiter);
  });
  after(() => {
    installed?.remove();
    console.log(`\n${tableOf(rows)}\n`);
  });

  for (const { id, protocol } of profiles)
    it(`has ${id} write, run, call tools, answer, and go on`, async (t) => {
      const choice = await chooseAgent(profiles, id);
      if (choice.missing !== undefined) {
        const fault = installed?.faults.get(packageOf(id)?.name ?? '');
        const missing = fault === undefined ? choice.missing : `it could not be installed: ${fault}`;
        rows.push({ agent: id, version: '–', outcomes: missing });
        assert.ok(versions[id] === undefined, missing);
        return t.skip(missing);
      }
      const seen = await drive(t, id, protocol === 'any' ? 'anthropic' : protocol);
      const outcomes = outcomesOf(seen);
      rows.push({ agent: id, version: choice.found.version ?? ownVersion, outcomes });

      const { events, modelKeys, exchanges, requests, elsewhere, fault } = seen;
      const wrong = Object.entries(outcomes).filter(([, why]) => why !== undefined);
      assert.deepEqual(wrong, []);
      assert.equal(fault, undefined);
      assert.deepEqual(new Set(modelKeys), new Set([keys.model]), 'all are asked with the key of the user');
      assert.equal(requests, exchanges.length, 'all requests are counted');
      const log = JSON.stringify(events);
      for (const key of Object.values(keys)) assert.ok(!log.includes(key), `${key} is in the log`);
      for (const key of [keys.model, keys.http]) assert.ok(!elsewhere.includes(key), `${key} is in a file`);
    });
});
