import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FoundAgent } from './find.ts';
import { homeFilesOf, launchOf, sessionOf } from './launch.ts';
import type { Profile } from './profileSchema.ts';
import { loadProfiles } from './profiles.ts';

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

function foundFor({ programs: [program] }: Profile): FoundAgent {
  assert.ok(program !== undefined);
  const found = {
    program,
    foundAt: '/bin/x',
    start: ['/bin/x'] as const,
    readable: [],
    helpers: [],
    version: undefined,
  };
  return found;
}

function launch(profile: Profile, model: string) {
  return launchOf(profile, foundFor(profile), { ...values, model });
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
      const files = homeFilesOf(profile, foundFor(profile), { ...values, model: 'the-model' });
      assert.ok(JSON.stringify([env, files]).includes(values.token), profile.id);
      assert.doesNotMatch(
        JSON.stringify([argv, env, files]),
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
    const found = {
      program,
      foundAt: '',
      start: ['/bin/x'] as const,
      readable: [],
      helpers: [],
      version: undefined,
    };
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

describe('the files in the home of an agent', () => {
  const profile = getProfile('pi');
  const [program] = profile.programs;
  assert.ok(program !== undefined);
  const start = ["/it's/node", '/opt/pi.js'] as const;
  const helpers = [{ command: 'pi', start }];
  const found = { program, foundAt: '/x', start: ['/x'] as const, readable: [], helpers, version: undefined };

  it('contain model, address and token as valid JSON, whatever the model is called', () => {
    fc.assert(
      fc.property(oddName, (model) => {
        const files = homeFilesOf(profile, found, { ...values, model });
        const models = JSON.parse(files.find(({ path }) => path === '.pi/agent/models.json')?.text ?? '');
        assert.deepEqual(models.providers.parley, {
          baseUrl: 'http://127.0.0.1:9/model/openai/v1',
          api: 'openai-completions',
          apiKey: values.token,
          models: [{ id: model.replaceAll('\0', '\ufffd') }],
        });
      }),
    );
  });

  it('include a script for each helper, whose folder comes first in PATH', () => {
    const files = homeFilesOf(profile, found, { ...values, model: 'm' });
    const script = files.find(({ isProgram }) => isProgram === true);
    assert.equal(script?.path, '.parley/bin/pi');
    assert.equal(script.text, `#!/bin/sh\nexec '/it'\\''s/node' '/opt/pi.js' "$@"`);
    assert.equal(launchOf(profile, found, { ...values, model: 'm' }).programs, '/home/agent/.parley/bin');
  });

  it('are removed in the other mode, unless both have them', () => {
    const both = { a: 'always {model}' };
    const modes = { ask: { files: { b: 'ask' } }, auto: { files: { a: 'auto', c: 'auto' } } };
    const changed = { ...found, helpers: [], program: { ...program, files: both, modes } };
    const textsIn = (mode: 'ask' | 'auto') =>
      homeFilesOf(profile, changed, { ...values, model: 'm', mode }).map(({ path, text }) => [path, text]);
    assert.deepEqual(textsIn('ask'), [
      ['a', 'always m'],
      ['b', 'ask'],
      ['c', ''],
    ]);
    assert.deepEqual(textsIn('auto'), [
      ['a', 'auto'],
      ['b', ''],
      ['c', 'auto'],
    ]);
  });
});
