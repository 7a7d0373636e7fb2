// What bash offers, asked of bash itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { shellWord } from '../support/commandLine.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);
const main = resolve(import.meta.dirname, '../../src/main.ts');

describe('parley completion', () => {
  it('completes commands, their words and options, ids of conversations, and answers', async (t) => {
    const service = await startService({}, t);
    for (const conversation_id of ['abc-1', 'abd-2', 'xyz'])
      await service.ask('/api/conversations', { json: { conversation_id } });
    const parley = join(service.place.dataDir, 'parley');
    writeFileSync(parley, `#!/bin/sh\nexec ${shellWord(process.execPath)} ${shellWord(main)} "$@"\n`);
    chmodSync(parley, 0o755);
    const cases: [string[], string[]][] = [
      [['st'], ['start', 'stop']],
      [
        ['settings', ''],
        ['export', 'get', 'import', 'set'],
      ],
      [['new', '--fo'], ['--follow']],
      [
        ['new', 'x', '--i'],
        ['--id', '--image', '--instructions'],
      ],
      [
        ['show', 'ab'],
        ['abc-1', 'abd-2'],
      ],
      [
        ['confirm', 'xyz', 'a'],
        ['allow', 'always'],
      ],
      [['send', 'xyz', 'h'], []],
      [['nonsense', ''], []],
    ];
    const asks = cases.map(([words]) => {
      const all = ['parley', ...words].map(shellWord).join(' ');
      return `COMP_WORDS=(${all}); COMP_WORDS[0]=$parley; COMP_CWORD=${words.length}; _parley; echo "\${COMPREPLY[*]}"`;
    });
    const script = `parley=${shellWord(parley)}\neval "$("$parley" completion)"\n${asks.join('\n')}\ncomplete -p parley`;
    const env = { PATH: process.env['PATH'], PARLEY_URL: service.url, PARLEY_KEY: service.key };
    const { stdout } = await run('bash', ['--norc', '-c', script], { env });
    const lines = stdout.trimEnd().split('\n');
    for (const [i, [words, expected]] of cases.entries())
      assert.deepEqual(
        (lines[i] ?? '')
          .split(' ')
          .filter((word) => word !== '')
          .sort(),
        expected,
        words.join(' '),
      );
    assert.match(String(lines.at(-1)), /-F _parley parley$/);
  });
});
