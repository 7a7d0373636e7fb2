// From the command line to an exit code: 0 done, 1 failed, 2 refused or misused.

import { audit } from './cli/audit.ts';
import type { Command } from './cli/command.ts';
import { keys } from './cli/keys.ts';
import { secrets } from './cli/secrets.ts';
import { serve } from './cli/serve.ts';
import { settings } from './cli/settings.ts';
import { users } from './cli/users.ts';
import { RefusalError } from './errors.ts';
import { version } from './version.ts';

const commands: readonly Command[] = [serve, settings, keys, users, secrets, audit];

const usage = `Parley ${version}: the control plane for coding agents.

Usage: parley COMMAND [options]

${commands.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`).join('\n')}

"parley COMMAND --help" explains a command. Start with: parley serve
`;

function refuse(message: string): number {
  process.stderr.write(`parley: ${message}\n`);
  return 2;
}

export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version') {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(usage);
    return name === undefined ? 2 : 0;
  }
  const command = commands.find((c) => c.name === name);
  if (command === undefined) return refuse('there is no such command; "parley --help" lists them.');
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(command.help);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof RefusalError) return refuse(error.message);
    const { code } = error as { code?: string };
    if (code?.startsWith('ERR_PARSE_ARGS')) return refuse(`${(error as Error).message}`);
    throw error;
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
