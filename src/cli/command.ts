// How a command is declared: as data, from which its help, its parser and its completion are derived.

export interface Option {
  readonly type: 'boolean' | 'string' | 'integer';
  readonly help: string;
  /** One letter. */
  readonly short?: string;
  /** The name of the value in the help, such as OWNER/NAME. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly multiple?: true;
  readonly default?: string | number;
  /** The default as the help shows it, if it is not a fixed value. */
  readonly shownDefault?: string;
  /** Of an integer. */
  readonly min?: number;
  readonly max?: number;
  /** The environment variable that sets the same. */
  readonly env?: string;
  /** True for a secret: it has no flag, because every user of a machine can see the flags of a process. */
  readonly envOnly?: boolean;
  /** The heading under which the help lists it. */
  readonly group?: string;
  readonly completes?: 'files';
}

export type Options = Readonly<Record<string, Option>>;

export interface Argument {
  /** In lower case; the help shows it in capitals. */
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  readonly multiple?: true;
  readonly choices?: readonly string[];
  readonly completes?: 'conversations' | 'files' | 'contexts';
}

export type TopicName = 'connection' | 'output' | 'exit-codes';

export interface Command {
  /** With the name of its group of commands, if it has one: `keys create`. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly arguments: readonly Argument[];
  readonly options: Options;
  /** Its arguments end with a message: an option after its first word is probably meant as text. */
  readonly takesMessage?: true;
  /** Complete command lines, without the name of the program. */
  readonly examples: readonly string[];
  /** Help topics that apply to it. */
  readonly topics?: readonly TopicName[];
  /** Not listed: only scripts call it. */
  readonly hidden?: true;
}

/** A command that consists of several, such as `keys`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly commands: readonly Command[];
}

type OptionValue<O extends Option> = O extends { type: 'boolean' }
  ? boolean
  : O extends { multiple: true }
    ? readonly string[]
    :
        | (O extends { type: 'integer' }
            ? number
            : O extends { choices: readonly (infer Choice)[] }
              ? Choice
              : string)
        | (O extends { default: string | number } ? never : undefined);

type ArgumentValue<A extends Argument> = A extends { multiple: true }
  ? readonly string[]
  :
      | (A extends { choices: readonly (infer Choice)[] } ? Choice : string)
      | (A extends { optional: true } ? undefined : never);

export interface Parsed<C extends Pick<Command, 'arguments' | 'options'>> {
  readonly options: { readonly [Name in keyof C['options']]: OptionValue<C['options'][Name]> };
  readonly args: {
    readonly [A in C['arguments'][number] as A['name']]: ArgumentValue<A>;
  };
}

/** Does what the command line says and returns the exit code. */
export type Handler<C extends Command> = (parsed: Parsed<C>) => Promise<number>;

/** Keeps the literal types of a declaration, from which the types of its parsed values follow. */
export function declare<const C extends Command>(command: C): C {
  return command;
}
