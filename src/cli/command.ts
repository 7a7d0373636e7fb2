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
  /** What may follow it, for completion: words of its own, or ids of conversations. */
  readonly words?: readonly string[] | 'ids';
  /** Loaded when it is asked for, so that a small command need not wait for a large one. */
  readonly load: () => Promise<Command>;
}
