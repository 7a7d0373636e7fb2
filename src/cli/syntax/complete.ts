// What can complete a command line, found in the declarations of the commands. The completion scripts ask for it.
import type { Argument, Command, Option } from '../command.ts';
import { entries, findEntry } from '../commands.ts';
import { topics } from './topics.ts';

export interface Candidate {
  readonly word: string;
  readonly help: string;
}

/** Names that are not in the declarations. */
export interface Names {
  conversations(): Promise<readonly Candidate[]>;
  contexts(): Promise<readonly Candidate[]>;
}

/** 'files': the shell itself completes the name of a file. */
type Candidates = readonly Candidate[] | 'files';

const plain = (words: readonly string[]): Candidate[] => words.map((word) => ({ word, help: '' }));

function firstWordCandidates(): Candidate[] {
  const named = entries.flatMap((entry) => {
    if ('commands' in entry) return [{ word: entry.name, help: entry.summary }];
    const { name, summary, aliases = [], hidden } = entry;
    return hidden ? [] : [name, ...aliases].map((word) => ({ word, help: summary }));
  });
  return [
    ...named,
    { word: 'help', help: 'Explain a command or a topic' },
    { word: '--help', help: 'List the commands' },
    { word: '--version', help: 'Print the version' },
  ];
}

function helpCandidates(): Candidate[] {
  const commands = firstWordCandidates().filter(({ word }) => word !== 'help' && !word.startsWith('-'));
  return [...commands, ...Object.entries(topics).map(([word, { summary }]) => ({ word, help: summary }))];
}

function optionCandidates({ options }: Command): Candidate[] {
  const flags = Object.entries(options).filter(([, { envOnly }]) => !envOnly);
  return [
    ...flags.map(([name, { help }]) => ({ word: `--${name}`, help })),
    { word: '--help', help: 'Explain this command' },
  ];
}

function optionOf({ options }: Command, word: string): Option | undefined {
  const long = word.startsWith('--') ? word.slice(2) : undefined;
  if (long !== undefined) return Object.hasOwn(options, long) ? options[long] : undefined;
  return Object.values(options).find(({ short }) => short !== undefined && word === `-${short}`);
}

async function argumentCandidates(argument: Argument | undefined, names: Names): Promise<Candidates> {
  if (argument?.choices !== undefined) return plain(argument.choices);
  switch (argument?.completes) {
    case 'files':
      return 'files';
    case 'conversations':
      return names.conversations();
    case 'contexts':
      return names.contexts();
    default:
      return [];
  }
}

/** `words` come before the one that is being typed, without the name of the command. */
async function commandCandidates(
  command: Command,
  words: readonly string[],
  typed: string,
  names: Names,
): Promise<Candidates> {
  let [positionals, optionsEnd, awaited]: [number, boolean, Option | undefined] = [0, false, undefined];
  for (const word of words) {
    if (awaited !== undefined) awaited = undefined;
    else if (!optionsEnd && word === '--') optionsEnd = true;
    else if (!optionsEnd && /^-./.test(word)) {
      const option = optionOf(command, word);
      if (option !== undefined && option.type !== 'boolean') awaited = option;
    } else positionals += 1;
  }
  if (awaited !== undefined) return awaited.completes ?? plain(awaited.choices ?? []);
  if (!optionsEnd && typed.startsWith('-')) return optionCandidates(command);
  const last = command.arguments.at(-1);
  const argument = command.arguments[positionals] ?? (last?.multiple ? last : undefined);
  return argumentCandidates(argument, names);
}

async function allCandidates(words: readonly string[], typed: string, names: Names): Promise<Candidates> {
  const [first, second] = words;
  if (first === undefined) return firstWordCandidates();
  if (first === 'help') return words.length === 1 ? helpCandidates() : [];
  const entry = findEntry(first);
  if (entry === undefined) return [];
  if (!('commands' in entry)) return commandCandidates(entry, words.slice(1), typed, names);
  if (second === undefined)
    return entry.commands.map(({ name, summary }) => ({
      word: name.slice(entry.name.length + 1),
      help: summary,
    }));
  const command = entry.commands.find(({ name }) => name === `${entry.name} ${second}`);
  return command === undefined ? [] : commandCandidates(command, words.slice(2), typed, names);
}

/** Completes the last of the words, which follow the name of the program. */
export async function complete(words: readonly string[], names: Names): Promise<Candidates> {
  const typed = words.at(-1) ?? '';
  const candidates = await allCandidates(words.slice(0, -1), typed, names);
  return candidates === 'files' ? candidates : candidates.filter(({ word }) => word.startsWith(typed));
}
