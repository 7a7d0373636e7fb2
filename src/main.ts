// From the command line to an exit code: cli/exits.ts says what each means.
import type { Entry } from './cli/command.ts';
import { commands, groups } from './cli/commands.ts';
import { exits } from './cli/exits.ts';
import { plainText } from './cli/terminal/plainText.ts';
import { suggest } from './cli/terminal/suggestion.ts';
import { ParleyError } from './client/errors.ts';
import { AppError, RefusalError } from './errors.ts';
import { commandName } from './process/program.ts';
import { version } from './process/version.ts';

const usage = `Parley ${version}: the control plane for coding agents.

Usage: ${commandName} COMMAND [options]

${groups
  .map(({ title, entries }) =>
    [`${title}:`, ...entries.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`), ''].join('\n'),
  )
  .join('\n')}
"${commandName} COMMAND --help" explains a command. Start with: ${commandName} serve
`;

function fail(message: string, exitCode: number): number {
  process.stderr.write(`parley: ${plainText(message)}\n`);
  return exitCode;
}

async function failWith(error: unknown, name: string): Promise<number> {
  if (error instanceof RefusalError || error instanceof AppError) return fail(error.message, exits.misused);
  if (error instanceof ParleyError) {
    const { describeFault } = await import('./cli/terminal/faults.ts');
    const { message, exitCode } = describeFault(error);
    return fail(message, exitCode);
  }
  const { code } = error as { code?: string };
  if (code?.startsWith('ERR_PARSE_ARGS'))
    return fail(`${(error as Error).message} ("${commandName} ${name} --help" explains it.)`, exits.misused);
  throw error;
}

/** A reader that goes away, such as head, ends the program quietly; what cannot be written otherwise is a failure. */
function watchOutput(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(exits.readerLeft);
    process.exit(fail(`the output cannot be written: ${code}.`, exits.failed));
  });
  // Nobody is left to be told.
  process.stderr.on('error', () => {});
}

/** Behind "--", and in the words of a message, it is text. */
function wantsHelp({ takesMessage }: Entry, argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const options = takesMessage ? argv.slice(0, 1) : argv.slice(0, end < 0 ? argv.length : end);
  return options.includes('--help') || options.includes('-h');
}

function failUnknown(typed: string): number {
  const meant = suggest(
    typed,
    commands.map(({ name }) => name),
  );
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return fail(`there is no such command; "${commandName} --help" lists them.${hint}`, exits.misused);
}

async function runCommand(name: string, argv: readonly string[]): Promise<number> {
  const entry = commands.find((c) => c.name === name);
  if (entry === undefined) return failUnknown(name);
  const command = await entry.load();
  if (wantsHelp(entry, argv)) {
    process.stdout.write(command.help);
    return exits.done;
  }
  try {
    return await command.run(argv);
  } catch (error) {
    return failWith(error, name);
  }
}

export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version') {
    process.stdout.write(`${version}\n`);
    return exits.done;
  }
  if (name === 'help' && rest[0] !== undefined) return runCommand(rest[0], ['--help']);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(usage);
    return name === undefined ? exits.misused : exits.done;
  }
  return runCommand(name, rest);
}

if (import.meta.main) {
  watchOutput();
  process.exitCode = await main(process.argv.slice(2));
}
