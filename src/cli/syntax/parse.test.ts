// Parsing, help and completion, all of which follow from the declarations of the commands.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scopes } from '../../keys/schema.ts';
import { secretFields } from '../../settings/schema.ts';
import { commands, entries, firstWords } from '../commands.ts';
import { confirmCommand, listCommand, newCommand, sendCommand } from '../declarations/conversations.ts';
import { auditCommand, serveCommand } from '../declarations/machine.ts';
import { keysCreateCommand, loginCommand, settingsSetCommand } from '../declarations/services.ts';
import { handlers } from '../handlers.ts';
import { commandHelp, groupHelp } from './help.ts';
import { parseCommandLine } from './parse.ts';
import { suggest } from './suggestion.ts';
import { isTopic, topics } from './topics.ts';

describe('parseCommandLine', () => {
  it('returns options with their types and defaults, and arguments by name', () => {
    const parsed = parseCommandLine(newCommand, ['--image', 'a', '-f', '--image=b', 'Fix', 'it']);
    assert.ok(parsed !== 'help');
    const { follow, image, repo, json } = parsed.options;
    assert.deepEqual([follow, image, repo, json], [true, ['a', 'b'], undefined, false]);
    assert.deepEqual(parsed.args, { message: ['Fix', 'it'] });
    const audit = parseCommandLine(auditCommand, ['--last', '7']);
    assert.ok(audit !== 'help' && audit.options.last === 7);
    const answer = parseCommandLine(confirmCommand, ['abc', 'ALLOW', '--question', '41']);
    assert.ok(answer !== 'help');
    assert.deepEqual([answer.args, answer.options.question], [{ id: 'abc', answer: 'allow' }, 41]);
  });

  it('takes everything after "--" as arguments', () => {
    const parsed = parseCommandLine(sendCommand, ['abc', '--', '--follow', '-h']);
    assert.ok(parsed !== 'help');
    assert.deepEqual([parsed.args.message, parsed.options.follow], [['--follow', '-h'], false]);
  });

  it('recognises a request for help, except in the words of a message', () => {
    assert.equal(parseCommandLine(listCommand, ['--status', 'running', '-h']), 'help');
    assert.equal(parseCommandLine(newCommand, ['--help', 'x']), 'help');
    assert.throws(() => parseCommandLine(newCommand, ['what', 'does', '-h', 'do']), /quote the message/);
  });

  const bad: [Parameters<typeof parseCommandLine>[0], string[], RegExp][] = [
    [listCommand, ['--stauts', 'x'], /has no option --stauts\. Did you mean --status\? "parley list --help"/],
    [listCommand, ['--status'], /--status needs a value\./],
    [listCommand, ['--search', '--json'], /--search needs a value.*--search=VALUE/],
    [listCommand, ['--json=yes'], /--json takes no value/],
    [listCommand, ['--status', 'odd'], /--status must be starting, running or stopped\./],
    [listCommand, ['x'], /too many arguments\. Usage: parley list \[options\]$/],
    [
      confirmCommand,
      ['x'],
      /ANSWER is missing\. Usage: parley confirm ID allow\|always\|reject \[options\]$/,
    ],
    [confirmCommand, ['x', 'maybe'], /ANSWER must be allow, always or reject\./],
    [confirmCommand, ['x', 'allow', '--question', 'y'], /--question must be a whole number of at least 0\./],
    [auditCommand, ['--last', '0'], /--last must be a whole number from 1 to 100000\./],
    [auditCommand, ['--last', '1e2'], /--last must be/],
    [serveCommand, ['--DATABASE_URL', 'postgres://x'], /has no option --DATABASE_URL/],
    [serveCommand, ['--session-api-key', 'x'], /has no option --session-api-key/],
    [listCommand, ['--constructor', 'x'], /has no option --constructor/],
  ];
  for (const [command, argv, message] of bad)
    it(`refuses "${command.name} ${argv.join(' ')}" and says why`, () => {
      assert.throws(() => parseCommandLine(command, argv), { name: 'RefusalError', message });
    });

  it('never repeats an argument, which may be a key', () => {
    assert.throws(
      () => parseCommandLine(loginCommand, ['https://a.test', 'pk_secret']),
      (error: Error) => !error.message.includes('pk_secret'),
    );
    assert.throws(
      () => parseCommandLine(loginCommand, ['--key=pk_secret', 'https://a.test']),
      (error: Error) => /--key\b/.test(error.message) && !error.message.includes('pk_secret'),
    );
  });
});

describe('the declarations', () => {
  it('have a handler each', async () => {
    assert.deepEqual(commands.map(({ name }) => name).sort(), Object.keys(handlers).sort());
    for (const load of Object.values(handlers)) assert.equal(typeof (await load()), 'function');
  });

  it('teach with a description, one to three examples that parse, and topics that exist', () => {
    for (const command of commands) {
      assert.ok(command.summary.length > 5 && !command.summary.endsWith('.'), command.name);
      assert.match(command.description, /^[A-Z]/, command.name);
      assert.ok(command.examples.length > 0 && command.examples.length < 4, command.name);
      for (const example of command.examples) {
        assert.ok(example.startsWith(command.name), example);
        const [line = ''] = example.slice(command.name.length).split(/ [<>|] /);
        const words = line.match(/"[^"]*"|\S+/g) ?? [];
        assert.doesNotThrow(() => parseCommandLine(command, words), example);
      }
      for (const topic of command.topics ?? []) assert.ok(isTopic(topic), topic);
    }
  });

  it('have no first word twice', () => {
    assert.equal(new Set(firstWords()).size, firstWords().length);
  });

  it('list every scope of a key and every secret setting', () => {
    assert.deepEqual(keysCreateCommand.options.scope.choices, ['all', ...scopes]);
    for (const name of secretFields) assert.ok(settingsSetCommand.description.includes(name), name);
  });
});

describe('the help', () => {
  it('has at most 100 columns', () => {
    const groups = entries.flatMap((entry) => ('commands' in entry ? [groupHelp(entry)] : []));
    const texts = [
      ...commands.map(commandHelp),
      ...groups,
      ...Object.values(topics).map(({ text }) => text()),
    ];
    for (const line of texts.join('\n').split('\n')) assert.ok(line.length <= 100, line);
  });

  it('groups the options of the service, with their variables and defaults', () => {
    const text = commandHelp(serveCommand);
    for (const heading of ['Listening', 'Keys and secrets', 'Sandbox', 'Workspaces', 'Requests'])
      assert.match(text, new RegExp(`^${heading}:$`, 'm'));
    assert.match(text, /^ {2}--port PORT +The port to listen on\..*Default: 3000\. \[PORT\]$/m);
    assert.match(text, /^ {2}DATABASE_URL +Use PostgreSQL/m);
  });
});

describe('a mistyped word', () => {
  it('gets a suggestion if a similar one exists', () => {
    const cases: [string, string | undefined][] = [
      ['nwe', 'new'],
      ['lst', 'list'],
      ['Dotcor', 'doctor'],
      ['conf', 'confirm'],
      ['juggle', undefined],
      ['x', undefined],
      ['', undefined],
    ];
    for (const [typed, meant] of cases) assert.equal(suggest(typed, firstWords()), meant, typed);
  });
});
