import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { launchOf, sessionOf } from './launch.ts';
import { loadProfiles, type Profile } from './profiles.ts';

const profiles = loadProfiles();
const values = {
  token: 'pr_the-token',
  origin: 'http://127.0.0.1:9',
  home: '/home/agent',
  mode: 'auto' as const,
};

function getProfile(id: string): Profile {
  const profile = profiles.find((one) => one.id === id);
  assert.ok(profile !== undefined);
  return profile;
}

function launch(profile: Profile, model: string) {
  const [program] = profile.programs;
  assert.ok(program !== undefined);
  const found = { program, foundAt: '/bin/x', start: ['/bin/x'] as const, readable: [], version: undefined };
  return launchOf(profile, found, { ...values, model });
}

const oddNames = [
  'a"b',
  "a'b",
  'a\\',
  'a\nb = 1',
  '"}}',
  '{token}',
  '{model}',
  '$&',
  '--yolo',
  '__proto__',
  '\x7f',
  '',
];
const oddName = fc.oneof(fc.constantFrom(...oddNames), fc.string({ unit: 'grapheme' }));

describe('the command line and environment of an agent', () => {
  it('contain the model in JSON, whatever its name', () => {
    const profile = getProfile('opencode');
    fc.assert(
      fc.property(oddName, (model) => {
        const name = model.replaceAll('\0', '\ufffd');
        const config = JSON.parse(launch(profile, model).env['OPENCODE_CONFIG_CONTENT'] ?? '');
        assert.equal(config.model, `parley/${name}`);
        assert.deepEqual(config.permission, { '*': 'ask' });
        assert.deepEqual(Object.keys(config.provider.parley.models), [name]);
        assert.equal(config.provider.parley.options.apiKey, values.token);
      }),
    );
  });

  it('contain the model as one quoted string in TOML', () => {
    const profile = getProfile('codex');
    fc.assert(
      fc.property(oddName, (model) => {
        const { argv } = launch(profile, model);
        assert.equal(argv.length, 1 + (profile.programs[0]?.args.length ?? 0));
        const [, quoted = ''] = /^model=(.*)$/s.exec(argv[2] ?? '') ?? [];
        assert.match(quoted, /^"([^"\\\p{Cc}]|\\["\\bfnrt]|\\u[0-9a-f]{4})*"$/u);
        assert.equal(JSON.parse(quoted), model);
      }),
    );
  });

  it('contain the model in one argument, which cannot become an option', () => {
    for (const id of ['gemini', 'qwen'])
      for (const model of oddNames) {
        const { argv } = launch(getProfile(id), model);
        assert.ok(argv.includes(`--model=${model}`), model);
        assert.ok(!argv.slice(1).includes(model));
      }
  });

  it('never contain the token in arguments, and no unfilled placeholder', () => {
    for (const profile of profiles) {
      const { argv, env } = launch(profile, 'the-model');
      assert.ok(!argv.join(' ').includes(values.token), profile.id);
      assert.ok(JSON.stringify(env).includes(values.token), profile.id);
      assert.doesNotMatch(
        JSON.stringify([argv, env]),
        /\{(model|token|base|origin|home|settings)/,
        profile.id,
      );
    }
  });

  it('contain the base URL of each protocol', () => {
    const base = (id: string, name: string) => launch(getProfile(id), 'm').env[name];
    assert.equal(base('claude', 'ANTHROPIC_BASE_URL'), `${values.origin}/model/anthropic`);
    assert.equal(base('gemini', 'GOOGLE_GEMINI_BASE_URL'), `${values.origin}/model/gemini`);
    assert.equal(base('qwen', 'OPENAI_BASE_URL'), `${values.origin}/model/openai/v1`);
  });

  it('depend on whether actions need approval', () => {
    const mode = { id: 'careful', args: ['--ask'], env: { KEY: 'b' }, meta: { x: { strict: true } } };
    const program = {
      command: 'x',
      args: ['acp'],
      env: { KEY: 'a', HERE: '{settings}' },
      modes: { ask: mode },
    };
    const found = { program, foundAt: '', start: ['/bin/x'] as const, readable: [], version: undefined };
    const given = { ...values, model: 'm' };
    const asking = launchOf(getProfile('qwen'), found, { ...given, mode: 'ask' });
    assert.deepEqual(asking.argv, ['/bin/x', 'acp', '--ask']);
    assert.equal(asking.env['KEY'], 'b');
    assert.ok(existsSync(asking.env['HERE'] ?? ''));
    assert.deepEqual(sessionOf(found, 'ask'), { modeId: 'careful', meta: { x: { strict: true } } });
    assert.deepEqual(launchOf(getProfile('qwen'), found, given).argv, ['/bin/x', 'acp']);
    assert.deepEqual(sessionOf(found, 'auto'), {});
  });
});
