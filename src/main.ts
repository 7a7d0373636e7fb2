// From the command line to an exit code: 0 done, 1 failed, 2 refused or misused.
import type { Command } from './cli/command.ts';
import { AppError, RefusalError } from './errors.ts';
import { version } from './version.ts';

interface Entry {
  readonly name: string;
  readonly summary: string;
  /** Loaded when it is asked for, so that a small command need not wait for a large one. */
  readonly load: () => Promise<Command>;
}

const commands: readonly Entry[] = [
  { name: 'serve', summary: 'Run the service', load: async () => (await import('./cli/serve.ts')).serve },
  {
    name: 'settings',
    summary: 'Read and write settings',
    load: async () => (await import('./cli/settings.ts')).settings,
  },
  {
    name: 'keys',
    summary: 'Make, list and revoke credentials',
    load: async () => (await import('./cli/keys.ts')).keys,
  },
  { name: 'users', summary: 'List users', load: async () => (await import('./cli/users.ts')).users },
  {
    name: 'agents',
    summary: 'Show agents and try them out',
    load: async () => (await import('./cli/agents.ts')).agents,
  },
  {
    name: 'secrets',
    summary: 'Change the sealing key',
    load: async () => (await import('./cli/secrets.ts')).secrets,
  },
  {
    name: 'webhooks',
    summary: 'Show webhooks and send failed messages again',
    load: async () => (await import('./cli/webhooks.ts')).webhooks,
  },
  {
    name: 'audit',
    summary: 'Show who changed what',
    load: async () => (await import('./cli/audit.ts')).audit,
  },
];

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
  const entry = commands.find((c) => c.name === name);
  if (entry === undefined) return refuse('there is no such command; "parley --help" lists them.');
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(command.help);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof RefusalError || error instanceof AppError) return refuse(error.message);
    const { code } = error as { code?: string };
    if (code?.startsWith('ERR_PARSE_ARGS')) return refuse(`${(error as Error).message}`);
    throw error;
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
