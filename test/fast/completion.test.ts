// What bash offers, asked of bash itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { shellWord } from '../support/commandLine.ts';
import { mainFile as main } from '../support/program.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);

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
      [
        ['rm', 'xyz', 'ab'],
        ['abc-1', 'abd-2'],
      ],
      [['show', 'xyz', 'ab'], []],
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

  it('runs nothing that a service sends', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-completion-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const ids = [`$(touch ${folder}/ran)`, `\`touch ${folder}/ran\``, '*', 'good-1'];
    const said = ids.map((conversation_id) => JSON.stringify({ conversation_id, title: '' })).join('\n');
    const { stdout: completion } = await run(process.execPath, [main, 'completion']);
    writeFileSync(join(folder, 'said'), `${said}\n`);
    writeFileSync(join(folder, 'parley'), '#!/bin/sh\nexec cat "$(dirname "$0")/said"\n', { mode: 0o755 });
    const ask = `COMP_WORDS=(${join(folder, 'parley')} show ''); COMP_CWORD=2; _parley; echo "\${COMPREPLY[*]}"`;
    const { stdout } = await run('bash', ['--norc', '-c', `${completion}\n${ask}`], { cwd: folder });
    assert.equal(stdout, 'good-1\n');
    assert.equal(existsSync(join(folder, 'ran')), false);
  });
});
