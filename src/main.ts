// From the command line to an exit code: cli/exits.ts lists what each means.
import type { Command } from './cli/command.ts';
import { entries, findEntry, firstWords, sections } from './cli/commands.ts';
import { exits } from './cli/exits.ts';
import { handlers } from './cli/handlers.ts';
import { commandHelp, commandRows, formatRows, groupHelp } from './cli/syntax/help.ts';
import { parseCommandLine } from './cli/syntax/parse.ts';
import { suggest } from './cli/syntax/suggestion.ts';
import { isTopic, topics } from './cli/syntax/topics.ts';
import { ParleyError } from './client/errors.ts';
import { AppError, RefusalError } from './errors.ts';
import { commandName } from './process/program.ts';
import { version } from './process/version.ts';
import { plainText } from './text/plainText.ts';

function usage(): string {
  const lists = sections.map(
    ({ title, entries: listed }) =>
      `${title}:\n${commandRows(listed.filter((entry) => 'commands' in entry || !entry.hidden))}`,
  );
  const topicRows = Object.entries(topics).map(([name, { summary }]) => [name, summary] as const);
  return `Parley ${version}: the control plane for coding agents.

Usage: ${commandName} COMMAND [options]

${lists.join('\n\n')}

Help topics:
${formatRows(topicRows)}

"${commandName} help COMMAND" explains a command, "${commandName} help TOPIC" a topic.
Start the service with: ${commandName} serve
`;
}

function print(text: string): number {
  process.stdout.write(text);
  return exits.done;
}

function fail(message: string, exitCode: number): number {
  process.stderr.write(`parley: ${plainText(message)}\n`);
  return exitCode;
}

async function failWith(error: unknown): Promise<number> {
  if (error instanceof RefusalError || error instanceof AppError) return fail(error.message, exits.usage);
  if (!(error instanceof ParleyError)) throw error;
  const { describeFault } = await import('./cli/terminal/faults.ts');
  const { message, exitCode } = describeFault(error);
  return fail(message, exitCode);
}

/** If the reader of the output has gone, such as head, the program ends quietly. Other write errors are failures. */
function watchOutput(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(exits.readerGone);
    process.exit(fail(`The output cannot be written: ${code}.`, exits.failed));
  });
  // An error message that cannot be written has nowhere else to go.
  process.stderr.on('error', () => {});
}

function unknownWord(what: string, typed: string, known: readonly string[], helpWords: string): number {
  const meant = suggest(typed, known);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return fail(`There is no such ${what}.${hint} "${commandName} ${helpWords}" lists them.`, exits.usage);
}

async function runCommand(command: Command, argv: readonly string[]): Promise<number> {
  try {
    const parsed = parseCommandLine(command, argv);
    if (parsed === 'help') return print(commandHelp(command));
    const handler = await handlers[command.name]?.();
    if (handler === undefined) throw new Error(`There is no handler for ${command.name}.`);
    return await handler(parsed);
  } catch (error) {
    return failWith(error);
  }
}

const isHelp = (word: string | undefined) => word === '--help' || word === '-h';

function runEntry(name: string, argv: readonly string[]): Promise<number> | number {
  const entry = findEntry(name);
  if (entry === undefined) return unknownWord('command', name, [...firstWords(), 'help'], '--help');
  if (!('commands' in entry)) return runCommand(entry, argv);
  const [word, ...rest] = argv;
  const names = entry.commands.map((command) => command.name.slice(name.length + 1));
  if (isHelp(word)) return print(groupHelp(entry));
  if (word === undefined)
    return fail(`"${commandName} ${name}" needs a command: ${names.join(', ')}.`, exits.usage);
  const command = entry.commands.find((known) => known.name === `${name} ${word}`);
  return command === undefined
    ? unknownWord(`command of "${commandName} ${name}"`, word, names, `${name} --help`)
    : runCommand(command, rest);
}

function help([word, second]: readonly string[]): Promise<number> | number {
  if (word === undefined || isHelp(word)) return print(usage());
  if (isTopic(word)) return print(topics[word].text());
  const isGroup = entries.some((entry) => entry.name === word && 'commands' in entry);
  return runEntry(word, isGroup && second !== undefined ? [second, '--help'] : ['--help']);
}

export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    print(usage());
    return exits.usage;
  }
  if (isHelp(name)) return print(usage());
  if (name === 'help') return help(rest);
  if (name === '--version' || name === '-v') return runEntry('version', []);
  return runEntry(name, rest);
}

if (import.meta.main) {
  watchOutput();
  process.exitCode = await main(process.argv.slice(2));
}
