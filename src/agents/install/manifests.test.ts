import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RefusalError } from '../../errors.ts';
import { launchOf } from '../launch.ts';
import { loadProfiles, readProfiles } from '../profiles.ts';
import { readManifests } from './manifests.ts';

const manifest = {
  id: 'some-agent',
  name: 'Some Code Agent (CLI)',
  version: '1.2.3',
  description: 'ignored',
  icon: 'https://example.com/x.svg',
  distribution: {
    npx: {
      package: '@some/agent@1.2.4',
      args: ['--acp'],
      env: { SOME: 'value' },
    },
  },
};

function read(json: unknown, change: Partial<Parameters<typeof readManifests>[2]> = {}) {
  return readManifests(JSON.stringify(json), 'agents.json', {
    protocol: 'openai-chat',
    known: loadProfiles(),
    replaceable: new Set(),
    only: [],
    ...change,
  });
}

const npx = (change: object) => ({
  ...manifest,
  distribution: { npx: { ...manifest.distribution.npx, ...change } },
});

describe('a manifest of the ACP registry', () => {
  it('becomes a profile with a pinned package, for which nothing is claimed', () => {
    const { profiles, refused } = read(manifest);
    assert.deepEqual(refused, []);
    const [profile] = profiles;
    assert.deepEqual(profile?.packages, [{ name: '@some/agent', version: '1.2.4' }]);
    assert.equal(profile.asks, undefined);
    assert.deepEqual(profile.programs, [
      {
        package: '@some/agent',
        args: ['--acp'],
        env: {
          SOME: 'value',
          OPENAI_API_KEY: '{token}',
          OPENAI_BASE_URL: '{base}',
          OPENAI_MODEL: '{model}',
        },
      },
    ]);
    assert.equal(readProfiles(JSON.stringify({ agents: profiles }), 'x').length, 1);
  });

  it('may come alone, in a list or in a registry', () => {
    const other = { ...manifest, id: 'other', distribution: { npx: { package: 'other' } } };
    for (const file of [manifest, [manifest, other], { version: '1.0.0', agents: [manifest, other] }]) {
      const ids = read(file).profiles.map(({ id }) => id);
      assert.deepEqual(ids, file === manifest ? ['some-agent'] : ['some-agent', 'other']);
    }
    assert.deepEqual(
      read([manifest, other], { only: ['other'] }).profiles.map(({ id }) => id),
      ['other'],
    );
    assert.match(read(manifest, { only: ['x'] }).refused[0]?.reason ?? '', /not in the file/);
  });

  it('without a version of its package has its own, and may name the program', () => {
    const [profile] = read(npx({ package: 'agent', cmd: 'agent-acp' })).profiles;
    assert.deepEqual(profile?.packages, [{ name: 'agent', version: '1.2.3' }]);
    assert.equal(profile.programs[0]?.command, 'agent-acp');
  });

  it('is refused with the reason if Parley cannot install it, and the others are read', () => {
    const distributions: [object, RegExp][] = [
      [{ uvx: { package: 'x==1.0.0' } }, /Python package \(uvx\)/],
      [{ binary: { 'linux-x86_64': { archive: 'https://x', cmd: './x' } } }, /without a checksum/],
      [{ brew: {} }, /no distribution that Parley knows/],
      [{}, /no distribution that Parley knows/],
    ];
    for (const [distribution, reason] of distributions) {
      const { profiles, refused } = read([{ ...manifest, id: 'refused', distribution }, manifest]);
      assert.deepEqual(
        profiles.map(({ id }) => id),
        ['some-agent'],
      );
      assert.match(refused[0]?.reason ?? '', reason);
    }
  });

  it('is refused if Parley already knows the agent, unless the operator replaces an own profile', () => {
    const copilot = npx({ package: '@github/copilot@9.9.9' });
    assert.match(
      read(copilot).refused[0]?.reason ?? '',
      /as copilot.*agents install copilot --version 9\.9\.9/,
    );
    assert.match(
      read({ ...manifest, id: 'pi' }).refused[0]?.reason ?? '',
      /already has an agent with this id, which is \S*pi\S*\. Change the id/,
    );
    assert.equal(read({ ...manifest, id: 'builtin' }).profiles.length, 0);
    const known = [...loadProfiles(), ...read(manifest).profiles];
    assert.equal(read(manifest, { known }).refused.length, 1);
    assert.equal(read(manifest, { known, replaceable: new Set(['some-agent']) }).profiles.length, 1);
  });

  it('is refused if it sets what decides which code is loaded or where requests go', () => {
    for (const name of [
      'LD_PRELOAD',
      'LD_LIBRARY_PATH',
      'NODE_OPTIONS',
      'PATH',
      'HOME',
      'BASH_ENV',
      'PYTHONPATH',
      'GIT_SSH_COMMAND',
      'HTTPS_PROXY',
      'https_proxy',
      'OPENAI_BASE_URL',
      'ANTHROPIC_BASE_URL',
      'SOME_API_BASE',
      'OPENAI_API_KEY',
    ]) {
      const { profiles, refused } = read(npx({ env: { [name]: 'x' } }));
      assert.deepEqual(profiles, [], name);
      assert.match(refused[0]?.reason ?? '', new RegExp(`it sets ${name}, .* by hand$`));
    }
    assert.equal(read(npx({ env: { SOME_DISABLE_AUTO_UPDATE: '1', PATHS: 'x' } })).profiles.length, 1);
  });

  it('is refused if its id is reserved', () => {
    for (const id of ['default', 'null', 'undefined', 'none', 'constructor', 'prototype'])
      assert.equal(read({ ...manifest, id }).refused[0]?.reason, 'its id is reserved', id);
  });

  it('is refused if anything in it could be more than a name, a version or a text', () => {
    const hostile: object[] = [
      ...['../x', 'a/b', '.', '', 'a b', '-x', 'A', 'x'.repeat(65), '__proto__'].map((id) => ({
        ...manifest,
        id,
      })),
      ...['', 'a\u001b[2J', 'a\nb', 'x'.repeat(101), '\u202ea'].map((name) => ({ ...manifest, name })),
      ...[
        '../../etc',
        '/etc/passwd',
        'file:../x',
        'git+ssh://x/y',
        'https://example.com/x.tgz',
        'user/repository',
        '-g',
        '--registry=http://evil',
        'x@latest',
        'x@^1.0.0',
        'x@npm:other@1.0.0',
        'x@1.0.0 y@1.0.0',
        'x;touch y',
        '$(x)@1.0.0',
        '@../x@1.0.0',
        'a@',
        '',
      ].map((name) => npx({ package: name })),
      ...['../x', '/bin/sh', 'a b', '-c', ''].map((cmd) => npx({ cmd })),
      ...[
        { 'A=B': 'x' },
        { 'A B': 'x' },
        { 'A\n': 'x' },
        { '': 'x' },
        { A: 7 },
        { A: 'x'.repeat(10_001) },
      ].map((env) => npx({ env })),
      npx({ args: ['{token}'] }),
      npx({ args: ['{unknown}'] }),
      npx({ args: Array.from({ length: 101 }, () => 'x') }),
      npx({ args: [7] }),
      { ...manifest, version: 'x', distribution: { npx: { package: 'x' } } },
    ];
    for (const one of hostile) {
      const { profiles, refused } = read([one]);
      assert.deepEqual([profiles, refused.length], [[], 1], JSON.stringify(one));
    }
  });

  it('never makes the reader fail or the profile invalid, whatever it contains', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('x', 'a@1.0.0', '{token}', '--x'));
    const anything = fc.record(
      {
        id: fc.oneof(text, fc.constant('some-agent')),
        name: text,
        version: fc.oneof(text, fc.constant('1.0.0')),
        distribution: fc.record(
          {
            npx: fc.record(
              { package: text, cmd: text, args: fc.array(text), env: fc.dictionary(text, text) },
              { requiredKeys: ['package'] },
            ),
            uvx: fc.anything(),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    /** A file without manifests is refused. */
    const readOrRefuse = (json: unknown) => {
      try {
        return read(json).profiles;
      } catch (error) {
        assert.ok(error instanceof RefusalError, String(error));
        return [];
      }
    };
    fc.assert(
      fc.property(fc.oneof(anything, fc.jsonValue()), (json) => {
        for (const profile of readOrRefuse(json)) {
          const [program] = profile.programs;
          assert.ok(program !== undefined);
          const found = {
            program,
            foundAt: '/x',
            start: ['/x'] as const,
            readable: [],
            helpers: [],
            version: undefined,
          };
          const values = {
            model: 'm',
            token: 'tok-en',
            origin: 'http://o',
            home: '/h',
            mode: 'ask' as const,
          };
          assert.ok(!launchOf(profile, found, values).argv.join(' ').includes('tok-en'));
        }
      }),
    );
  });

  it('is not read from a file that is not JSON or too long', () => {
    const options = { protocol: 'anthropic', known: [], replaceable: new Set<string>(), only: [] } as const;
    assert.throws(() => readManifests('{', 'x.json', options), /x\.json is not JSON/);
    for (const empty of ['[]', '{"agents":[]}'])
      assert.throws(() => readManifests(empty, 'x.json', options), /x\.json has no manifests/);
    const many = JSON.stringify(Array.from({ length: 1_001 }, () => manifest));
    assert.throws(() => readManifests(many, 'x.json', options), /more than 1000 manifests/);
  });
});
