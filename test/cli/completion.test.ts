// What the shells offer, asked of the shells themselves.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { shellWord } from '../support/commandLine.ts';
import { mainFile as main } from '../support/program.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);

interface Shell {
  readonly name: 'bash' | 'zsh' | 'fish';
  readonly args: readonly string[];
  /** A script that prints a line with the candidates for each of the command lines. */
  readonly script: (parley: string, lines: readonly (readonly string[])[]) => string;
}

/** In zsh, the functions of its completion system are replaced by ones that print what they get. */
const zshFunctions = `
compdef() { :; }
_files() { print -n -- ':files'; }
_describe() { local one; for one in "\${(@P)2}"; do print -n -- "\${\${one//\\\\\\\\:/;}%%:*} "; done; }
`;

const shells: readonly Shell[] = [
  {
    name: 'bash',
    args: ['--norc', '-c'],
    script: (parley, lines) =>
      [
        `eval "$(${shellWord(parley)} completion bash)"`,
        'compopt() { COMPREPLY=(:files); }',
        ...lines.map(
          (words) =>
            `COMP_WORDS=(${[parley, ...words].map(shellWord).join(' ')}); COMP_CWORD=${words.length}; _parley; echo "\${COMPREPLY[*]}"`,
        ),
      ].join('\n'),
  },
  {
    name: 'zsh',
    args: ['-f', '-c'],
    script: (parley, lines) =>
      [
        zshFunctions,
        `eval "$(${shellWord(parley)} completion zsh)"`,
        ...lines.map(
          (words) =>
            `words=(${[parley, ...words].map(shellWord).join(' ')}); CURRENT=${words.length + 1}; _parley; print`,
        ),
      ].join('\n'),
  },
  {
    name: 'fish',
    args: ['--no-config', '-c'],
    script: (parley, lines) =>
      [
        `${shellWord(parley)} completion fish | source`,
        'function __fish_complete_path; echo :files; end',
        ...lines.map((words) => {
          const typed = [parley, ...words].join(' ');
          return `echo (complete -C ${shellWord(typed)} | string split -f 1 \\t | string join ' ')`;
        }),
      ].join('\n'),
  },
];

const cases: readonly [typed: readonly string[], expected: readonly string[]][] = [
  [['st'], ['start', 'stop']],
  [['logs'], ['logs']],
  [
    ['settings', ''],
    ['export', 'get', 'import', 'set'],
  ],
  [['new', '--foll'], ['--follow']],
  [
    ['new', 'x', '--i'],
    ['--id', '--image', '--instructions'],
  ],
  [['keys', 'create', '--ki'], ['--kind']],
  [
    ['keys', 'create', '--kind', ''],
    ['bearer', 'session'],
  ],
  [
    ['list', '--status', 'st'],
    ['starting', 'stopped'],
  ],
  [['new', '--mcp', ''], [':files']],
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
  [['help', 'exit'], ['exit-codes']],
  [['serve', '--data-'], ['--data-dir']],
  [['serve', '--role', 'w'], ['worker']],
  [['show', 'xyz', 'ab'], []],
  [['send', 'xyz', 'h'], []],
  [['nonsense', ''], []],
];

/** A `parley` in a folder of its own, which runs this command line. */
function createProgram(folder: string, commandLine: string): string {
  const file = join(folder, 'parley');
  writeFileSync(file, `#!/bin/sh\n${commandLine}\n`);
  chmodSync(file, 0o755);
  return file;
}

function emptyFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-completion-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const isInstalled = (name: string) => spawnSync(name, ['--version']).status === 0;

for (const { name, args, script } of shells)
  describe(`parley completion ${name}`, {
    skip: isInstalled(name) ? false : `${name} is not installed`,
  }, () => {
    it('completes commands, options and their values, ids of conversations, and files', async (t) => {
      const service = await startService({}, t);
      for (const conversation_id of ['abc-1', 'abd-2', 'xyz'])
        await service.ask('/api/conversations', { json: { conversation_id } });
      const folder = emptyFolder(t);
      const parley = createProgram(folder, `exec ${shellWord(process.execPath)} ${shellWord(main)} "$@"`);
      const env = {
        PATH: `${folder}:${process.env['PATH']}`,
        HOME: folder,
        PARLEY_URL: service.url,
        PARLEY_KEY: service.key,
      };
      const text = script(
        parley,
        cases.map(([typed]) => typed),
      );
      const { stdout } = await run(name, [...args, text], { env, cwd: folder });
      const lines = stdout.split('\n');
      for (const [i, [typed, expected]] of cases.entries()) {
        const words = (lines[i] ?? '').split(' ').filter((word) => word !== '');
        assert.deepEqual(words.sort(), [...expected], typed.join(' '));
      }
    });

    it('runs nothing that the program prints', async (t) => {
      const folder = emptyFolder(t);
      const { stdout: completion } = await run(process.execPath, [main, 'completion', name]);
      writeFileSync(join(folder, 'script'), completion);
      writeFileSync(
        join(folder, 'printed'),
        `$(touch ${folder}/ran)\tx\n\`touch ${folder}/ran\`\tx\ngood-1\tx\n`,
      );
      const program = `if [ "$1" = completion ]; then cat ${folder}/script; else cat ${folder}/printed; fi`;
      const parley = createProgram(folder, program);
      const text = script(parley, [['show', '']]);
      const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder };
      const { stdout } = await run(name, [...args, text], { cwd: folder, env });
      assert.match(stdout, /good-1/);
      assert.equal(existsSync(join(folder, 'ran')), false);
    });
  });

describe('parley complete', () => {
  it('offers no id that a shell would have to quote, and prints no error', async (t) => {
    const { createServer } = await import('node:http');
    const ids = ['$(reboot)', '`id`', 'a b', '*', 'good-1'];
    const results = ids.map((conversation_id) => ({ conversation_id, title: 'a\tb\u001b[2J' }));
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ results, next_page_id: null })),
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => void server.close());
    const { port } = server.address() as { port: number };
    const complete = (url: string) =>
      run(process.execPath, [main, 'complete', '--', 'show', ''], {
        env: { PATH: process.env['PATH'], PARLEY_URL: url, PARLEY_KEY: 'k' },
      });
    assert.equal((await complete(`http://127.0.0.1:${port}`)).stdout, 'good-1\ta b␛[2J\n');
    await assert.rejects(complete('http://127.0.0.1:9'), { code: 1, stdout: '', stderr: '' });
  });
});
