// From the command line to an exit code: cli/exits.ts says what each means.
import { commands, groups } from './cli/commands.ts';
import { exits } from './cli/exits.ts';
import { ParleyError } from './client/errors.ts';
import { AppError, RefusalError } from './errors.ts';
import { version } from './version.ts';

const usage = `Parley ${version}: the control plane for coding agents.

Usage: parley COMMAND [options]

${groups
  .map(({ title, entries }) =>
    [`${title}:`, ...entries.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`), ''].join('\n'),
  )
  .join('\n')}
"parley COMMAND --help" explains a command. Start with: parley serve
`;

function fail(message: string, exitCode: number): number {
  process.stderr.write(`parley: ${message}\n`);
  return exitCode;
}

async function failWith(error: unknown): Promise<number> {
  if (error instanceof RefusalError || error instanceof AppError) return fail(error.message, exits.misused);
  if (error instanceof ParleyError) {
    const { describeFault } = await import('./cli/faults.ts');
    const { message, exitCode } = describeFault(error);
    return fail(message, exitCode);
  }
  const { code } = error as { code?: string };
  if (code?.startsWith('ERR_PARSE_ARGS')) return fail(`${(error as Error).message}`, exits.misused);
  throw error;
}

export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version') {
    process.stdout.write(`${version}\n`);
    return exits.done;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(usage);
    return name === undefined ? exits.misused : exits.done;
  }
  const entry = commands.find((c) => c.name === name);
  if (entry === undefined)
    return fail('there is no such command; "parley --help" lists them.', exits.misused);
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(command.help);
    return exits.done;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    return failWith(error);
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
