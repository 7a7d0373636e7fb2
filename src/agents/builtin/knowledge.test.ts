import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { temporary } from '../../../test/support/agentBench.ts';
import { readKnowledge } from './knowledge.ts';

function repository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = temporary(t);
  mkdirSync(join(folder, '.openhands/microagents'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const microagent = (name: string) => `.openhands/microagents/${name}`;

describe('the instructions of a repository', () => {
  it('are empty if there are none', async (t) => {
    const { always, triggeredBy } = await readKnowledge(temporary(t));
    assert.equal(always, '');
    assert.deepEqual(triggeredBy('anything'), []);
  });

  it('contain AGENTS.md, and the microagents without triggers', async (t) => {
    const { always } = await readKnowledge(
      repository(t, {
        'AGENTS.md': 'Use tabs.',
        [microagent('repo.md')]: '---\nname: repo\ntype: repo\n---\n\nRun make.',
        [microagent('notes.txt')]: 'Not for agents.',
      }),
    );
    assert.match(always, /Use tabs\..*Run make\./s);
    assert.doesNotMatch(always, /type: repo|Not for agents/);
  });

  it('contain a microagent that the message triggers, once', async (t) => {
    for (const triggers of [
      'triggers:\n- Docker\n- podman',
      'triggers: ["docker", podman]',
      "triggers:\r\n  - 'docker'",
    ]) {
      const text = `---\nname: docker\ntype: knowledge\n${triggers}\n---\nUse rootless mode.`;
      const { always, triggeredBy } = await readKnowledge(repository(t, { [microagent('docker.md')]: text }));
      assert.equal(always, '', triggers);
      assert.deepEqual(triggeredBy('something else'), []);
      assert.match(triggeredBy('start it in DOCKER please').join(), /Use rootless mode/);
      assert.deepEqual(triggeredBy('docker again'), []);
    }
  });

  it('are not read from anything but regular files', async (t) => {
    for (const target of ['/dev/zero', '/dev/stdin', '/proc/self']) {
      const folder = temporary(t);
      symlinkSync(target, join(folder, 'AGENTS.md'));
      assert.equal((await readKnowledge(folder)).always, '', target);
    }
  });

  it('have a common limit', async (t) => {
    const files = Array.from({ length: 10 }, (_, i) => [microagent(`${i}.md`), 'y'.repeat(20_000)]);
    const { always } = await readKnowledge(repository(t, Object.fromEntries(files)));
    assert.ok(always.length < 70_000);
    assert.match(always, /the rest is left out/);
  });

  it('are cut if they are too long', async (t) => {
    const { always } = await readKnowledge(repository(t, { 'AGENTS.md': 'x'.repeat(100_000) }));
    assert.ok(always.length < 40_000);
    assert.match(always, /the rest of this file is left out/);
  });
});
