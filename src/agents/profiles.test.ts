import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { RefusalError } from '../errors.ts';
import { findProfile, loadProfiles, readProfiles } from './profiles.ts';

const program = { command: 'mine', args: ['--acp'], env: { KEY: '{token}' } };
const mine = { id: 'mine', name: 'Mine', protocol: 'anthropic', programs: [program] };

function operatorFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-profiles-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'agents.json');
  writeFileSync(file, text);
  return file;
}

describe('the shipped profiles', () => {
  it('are valid, and Parley can install each external agent', () => {
    const profiles = loadProfiles();
    assert.deepEqual(
      profiles.map(({ id }) => id),
      ['builtin', 'opencode', 'claude', 'codex', 'gemini', 'qwen', 'copilot', 'kimi', 'pi', 'kilo'],
    );
    for (const { id, packages } of profiles) assert.equal(packages === undefined, id === 'builtin', id);
  });

  it('are found by name, the built-in one also by null and CodeActAgent', () => {
    const profiles = loadProfiles();
    assert.equal(findProfile(profiles, 'claude')?.id, 'claude');
    assert.equal(findProfile(profiles, null)?.id, 'builtin');
    assert.equal(findProfile(profiles, 'CodeActAgent')?.id, 'builtin');
    for (const name of ['', 'nonsense', 'constructor', '__proto__'])
      assert.equal(findProfile(profiles, name), undefined);
  });
});

describe("an operator's file of agents", () => {
  it('adds profiles and replaces shipped ones', (t) => {
    const file = operatorFile(t, JSON.stringify({ agents: [mine, { ...mine, id: 'claude' }] }));
    const profiles = loadProfiles(file);
    assert.equal(profiles.length, loadProfiles().length + 1);
    assert.deepEqual(findProfile(profiles, 'mine'), mine);
    assert.equal(findProfile(profiles, 'claude')?.name, 'Mine');
  });

  it('may be missing', () => {
    assert.deepEqual(loadProfiles('/nonexistent/agents.json'), loadProfiles());
  });

  it('is refused with its name and the position of the error, without repeating its content', (t) => {
    const faults: [object, RegExp][] = [
      [{}, /agents is required/],
      [{ agents: [{ ...mine, id: 'Has Spaces secret' }] }, /agents\[0\]\.id must match/],
      [{ agents: [{ ...mine, protocol: 'secret' }] }, /agents\[0\]\.protocol must be one of openai-chat/],
      [{ agents: [{ ...mine, extra: 'secret' }] }, /agents\[0\]\.extra is not a known field/],
      [{ agents: [mine, { ...mine, programs: [] }] }, /agents\[1\]\.programs/],
      [{ agents: [mine, mine] }, /agents\[1\]\.id occurs twice/],
      [{ agents: [{ ...mine, instructions: '../secret' }] }, /agents\[0\]\.instructions must match/],
      [withProgram({ env: { 'A-B': 'secret' } }), /agents\[0\]\.programs\[0\]\.env\.A-B/],
      [withProgram({ env: { A: 7 } }), /agents\[0\]\.programs\[0\]\.env\.A must be a string or an object/],
      [withProgram({ env: { A: { b: '{modle}' } } }), /programs\[0\]\.env\.A has an unknown \{modle\}/],
      [withProgram({ modes: { ask: { env: { A: '{x}' } } } }), /\.modes\.ask\.env\.A has an unknown \{x\}/],
      [withProgram({ modes: { auto: { args: ['{token}'] } } }), /\.modes\.auto\.args\[0\] must not contain/],
      [withProgram({ args: ['--key', '{token}'] }), /programs\[0\]\.args\[1\] must not contain \{token\}/],
      [withProgram({ args: ['{token:quoted}'] }), /programs\[0\]\.args\[0\] must not contain \{token\}/],
      [withProgram({ command: undefined }), /programs\[0\] must have either own, or command or package/],
      [withProgram({ package: '../secret', command: undefined }), /programs\[0\]\.package must match/],
      [withProgram({ files: { '../x': 'secret' } }), /programs\[0\]\.files/],
      [withProgram({ files: { a: { b: '{modle}' } } }), /programs\[0\]\.files\.a has an unknown \{modle\}/],
      [withProgram({ needs: [{ command: 'secret/x' }] }), /programs\[0\]\.needs\[0\]\.command must match/],
      [{ agents: [{ ...mine, packages: [{ name: '--secret', version: '1.0.0' }] }] }, /packages\[0\]\.name/],
      [{ agents: [{ ...mine, packages: [{ name: 'x', version: 'secret' }] }] }, /packages\[0\]\.version/],
      [withProgram({ command: '../secret' }), /programs\[0\]\.command must match/],
    ];
    for (const [content, expected] of faults) {
      const file = operatorFile(t, JSON.stringify(content));
      assert.throws(
        () => loadProfiles(file),
        (error: Error) =>
          error instanceof RefusalError &&
          error.message.startsWith(`${file}: `) &&
          expected.test(error.message) &&
          !error.message.includes('secret'),
        String(expected),
      );
    }
  });

  it('is refused with line and column if it is not JSON', () => {
    assert.throws(
      () => readProfiles('{\n "secret" }', 'agents.json'),
      /^RefusalError: agents\.json is not JSON \(line 2 column 11\)\.$/,
    );
  });
});

function withProgram(change: object): object {
  return { agents: [{ ...mine, programs: [{ ...program, ...change }] }] };
}
