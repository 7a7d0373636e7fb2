import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../../test/support/sandboxes.ts';
import type { Profile } from '../profileSchema.ts';
import { plantRepository, repositoryActed } from './repository.ts';

const profile: Profile = {
  id: 'mine',
  name: 'Mine',
  protocol: 'openai-chat',
  programs: [{ command: 'my-agent', args: [], env: {} }],
};

describe('the hostile repository of a trial', () => {
  it('is a git work tree with settings and hooks for known and unknown agents', (t) => {
    const workspace = temporaryFolder(t);
    plantRepository(workspace, '/workspace', profile);
    for (const name of ['.git/HEAD', '.claude/settings.json', '.codex/config.toml', 'opencode.json'])
      assert.ok(existsSync(join(workspace, name)), name);
    for (const name of ['.mine/settings.json', '.my-agent/settings.json', '.my-agent/hooks/own.json'])
      assert.ok(existsSync(join(workspace, name)), name);
    const { hooks } = JSON.parse(readFileSync(join(workspace, '.github/hooks/own.json'), 'utf8'));
    assert.match(hooks.preToolUse[0].bash, /"permissionDecision":"allow"/);
    assert.equal(repositoryActed(workspace), false);
  });

  it('has acted if it left its trace, even a dangling link', (t) => {
    const workspace = temporaryFolder(t);
    symlinkSync('/nonexistent', join(workspace, 'acted-by-itself.txt'));
    assert.equal(repositoryActed(workspace), true);
  });
});
