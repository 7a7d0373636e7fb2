// What a command is: a text that teaches, and what it does.

export interface Command {
  readonly help: string;
  /** Returns the exit code. Throws RefusalError where it is misused. */
  run(argv: readonly string[]): Promise<number>;
}

/** A command in the list of them all. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  /** What may follow it, for completion: words of its own, the id of one conversation, or any number of them. */
  readonly words?: readonly string[] | 'id' | 'ids';
  /** Whether its words are a message, in which options are only what stands before it. */
  readonly takesMessage?: true;
  /** Loaded when it is asked for, so that a small command need not wait for a large one. */
  readonly load: () => Promise<Command>;
}
