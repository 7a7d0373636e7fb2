// Parses the words of a command line as its declaration says. Every mistake is a usage error that says what to do.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Argument, Command, Option, Parsed } from '../command.ts';
import { suggest } from './suggestion.ts';

type Value = boolean | string | number | readonly string[];
type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];
type OptionToken = Extract<Token, { kind: 'option' }>;

export function shownArgument({ name, choices, optional, multiple }: Argument): string {
  const shown = `${choices?.join('|') ?? name.toUpperCase()}${multiple ? '…' : ''}`;
  return optional ? `[${shown}]` : shown;
}

export function usageOf({ name, arguments: args, options, takesMessage }: Command): string {
  const words = args.map(shownArgument);
  const shownOptions = Object.keys(options).length === 0 ? [] : ['[options]'];
  const parts = takesMessage ? [...shownOptions, ...words] : [...words, ...shownOptions];
  return [commandName, name, ...parts].join(' ');
}

function usageError(command: Command, sentence: string): RefusalError {
  return new RefusalError(`${sentence} Usage: ${usageOf(command)}`);
}

const helpHint = ({ name }: Command) => `"${commandName} ${name} --help" lists the options.`;

function unknownOption(command: Command, rawName: string, afterWords: boolean): RefusalError {
  const known = Object.entries(command.options).flatMap(([name, { envOnly }]) => (envOnly ? [] : [name]));
  const meant = rawName.startsWith('--') ? suggest(rawName.slice(2), [...known, 'help']) : undefined;
  const hint = meant === undefined ? '' : ` Did you mean --${meant}?`;
  const quoting =
    command.takesMessage && afterWords
      ? ' If it is part of the message, quote the message or put "--" before it.'
      : '';
  return new RefusalError(
    `"${commandName} ${command.name}" has no option ${rawName}.${hint}${quoting} ${helpHint(command)}`,
  );
}

function integerOf(name: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: Option, text: string): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new RefusalError(`--${name} must be a whole number ${range}.`);
}

function oneOf(what: string, choices: readonly string[], text: string): string {
  const chosen = choices.find((choice) => choice === text || choice === text.toLowerCase());
  if (chosen !== undefined) return chosen;
  throw new RefusalError(`${what} must be ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}.`);
}

function readValue(
  name: string,
  option: Option,
  { value, inlineValue }: OptionToken,
): boolean | string | number {
  if (option.type === 'boolean') {
    if (value !== undefined) throw new RefusalError(`--${name} takes no value.`);
    return true;
  }
  if (value === undefined) throw new RefusalError(`--${name} needs a value.`);
  if (!inlineValue && /^-./.test(value))
    throw new RefusalError(`--${name} needs a value. If it starts with a dash, write --${name}=VALUE.`);
  if (option.type === 'integer') return integerOf(name, option, value);
  return option.choices === undefined ? value : oneOf(`--${name}`, option.choices, value);
}

function defaultsOf({ options }: Command): Record<string, Value | undefined> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple, default: standard }]) => [
      name,
      type === 'boolean' ? false : multiple ? [] : standard,
    ]),
  );
}

/** The arguments are not repeated in an error: one of them may be a key that was pasted by mistake. */
function nameArguments(
  command: Command,
  words: readonly string[],
): Record<string, string | readonly string[]> {
  const named: Record<string, string | readonly string[]> = {};
  let rest = words;
  for (const argument of command.arguments) {
    const { name, multiple, optional, choices } = argument;
    const taken = multiple ? rest : rest.slice(0, 1);
    rest = rest.slice(taken.length);
    const [first] = taken;
    if (first === undefined && !optional) throw usageError(command, `${name.toUpperCase()} is missing.`);
    if (multiple) named[name] = taken;
    else if (first !== undefined)
      named[name] = choices === undefined ? first : oneOf(name.toUpperCase(), choices, first);
  }
  if (rest.length > 0) throw usageError(command, 'There are too many arguments.');
  return named;
}

function tokensOf({ options }: Command, argv: readonly string[]): readonly Token[] {
  const known = Object.entries(options)
    .filter(([, { envOnly }]) => !envOnly)
    .map(([name, { type, short }]) => [
      name,
      { type: type === 'boolean' ? type : ('string' as const), ...(short === undefined ? {} : { short }) },
    ]);
  const help = { help: { type: 'boolean', short: 'h' } } as const;
  return (
    parseArgs({
      args: [...argv],
      options: { ...Object.fromEntries(known), ...help },
      strict: false,
      allowPositionals: true,
      tokens: true,
    }).tokens ?? []
  );
}

/** Returns 'help' if help was asked for. Throws RefusalError. */
export function parseCommandLine<C extends Command>(command: C, argv: readonly string[]): Parsed<C> | 'help' {
  const options = defaultsOf(command);
  const words: string[] = [];
  for (const token of tokensOf(command, argv)) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName } = token;
    const isText = command.takesMessage === true && words.length > 0;
    if (name === 'help' && !isText) return 'help';
    const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined;
    if (option === undefined || option.envOnly) throw unknownOption(command, rawName, words.length > 0);
    const value = readValue(name, option, token);
    options[name] = option.multiple ? [...(options[name] as readonly string[]), String(value)] : value;
  }
  return { options, args: nameArguments(command, words) } as unknown as Parsed<C>;
}
