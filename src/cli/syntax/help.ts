// Help texts, derived from the declarations of commands.
import { commandName } from '../../process/program.ts';
import type { Command, CommandGroup, Option } from '../command.ts';
import { shownArgument, usageOf } from './parse.ts';

const columnsMin = 60;
const columnsMax = 100;
/** Heads that are longer have a line of their own. */
const headCharsMax = 28;

function columns(): number {
  return Math.min(columnsMax, Math.max(columnsMin, process.stdout.columns || columnsMax));
}

/** Breaks lines between words. Lines that begin with a space are left as they are. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    if (paragraph.startsWith(' ')) return [paragraph];
    const lines: string[] = [''];
    for (const word of paragraph.split(' ')) {
      const line = lines.at(-1) ?? '';
      if (line === '') lines[lines.length - 1] = word;
      else if (line.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = `${line} ${word}`;
    }
    return lines;
  });
}

type Row = readonly [head: string, text: string];

/** Two columns; the second one is wrapped. */
export function formatRows(rows: readonly Row[]): string {
  const short = rows.map(([head]) => head.length).filter((length) => length <= headCharsMax);
  const indent = 2 + Math.max(0, ...short) + 2;
  return rows
    .map(([head, text]) => {
      const lines = wrap(text, columns() - indent);
      const first =
        head.length <= headCharsMax ? `  ${head}`.padEnd(indent) : `  ${head}\n${' '.repeat(indent)}`;
      return `${first}${lines.join(`\n${' '.repeat(indent)}`)}`.trimEnd();
    })
    .join('\n');
}

function headOf(name: string, { type, short, value, choices, envOnly, env }: Option): string {
  if (envOnly) return env ?? name;
  const shown = value ?? (choices === undefined ? name.toUpperCase() : choices.join('|'));
  const flag = type === 'boolean' ? `--${name}` : `--${name} ${shown}`;
  return short === undefined ? flag : `-${short}, ${flag}`;
}

function textOf({ help, default: standard, shownDefault, env, envOnly, multiple }: Option): string {
  const shown = shownDefault ?? standard;
  return [
    help,
    ...(multiple ? ['You can repeat it.'] : []),
    ...(shown === undefined ? [] : [`Default: ${shown}.`]),
    ...(env === undefined || envOnly ? [] : [`[${env}]`]),
  ].join(' ');
}

function optionSections({ options }: Command): string[] {
  const byGroup = Map.groupBy(Object.entries(options), ([, { group = 'Options' }]) => group);
  return [...byGroup].map(([group, entries]) => {
    const rows = entries.map(([name, option]): Row => [headOf(name, option), textOf(option)]);
    return `${group}:\n${formatRows(rows)}`;
  });
}

/** The lines of a list of commands. */
export function commandRows(commands: readonly Pick<Command, 'name' | 'summary' | 'aliases'>[]): string {
  return formatRows(
    commands.map(({ name, summary, aliases = [] }) => [
      name,
      aliases.length === 0 ? summary : `${summary} (also: ${aliases.join(', ')})`,
    ]),
  );
}

export function commandHelp(command: Command): string {
  const { description, arguments: args, examples, topics = [], aliases = [] } = command;
  const sections = [
    `Usage: ${usageOf(command)}`,
    wrap(description, columns()).join('\n'),
    ...(args.length === 0
      ? []
      : [`Arguments:\n${formatRows(args.map((arg): Row => [shownArgument(arg), arg.help]))}`]),
    ...optionSections(command),
    ...(aliases.length === 0
      ? []
      : [`Also: ${aliases.map((alias) => `${commandName} ${alias}`).join(', ')}`]),
    ...(examples.length === 0
      ? []
      : [`Examples:\n${examples.map((line) => `  ${commandName} ${line}`).join('\n')}`]),
    ...(topics.length === 0
      ? []
      : [`See also: ${topics.map((topic) => `${commandName} help ${topic}`).join(', ')}`]),
  ];
  return `${sections.join('\n\n')}\n`;
}

export function groupHelp({ name, description, commands }: CommandGroup): string {
  const sections = [
    `Usage: ${commandName} ${name} COMMAND`,
    wrap(description, columns()).join('\n'),
    `Commands:\n${commandRows(commands.map((command) => ({ ...command, name: command.name.slice(name.length + 1) })))}`,
    `"${commandName} ${name} COMMAND --help" explains a command.`,
  ];
  return `${sections.join('\n\n')}\n`;
}
