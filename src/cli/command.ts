// What a command is: a name, a line for the list, a text that teaches, and what it does.

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. Throws RefusalError where it is misused. */
  run(argv: readonly string[]): Promise<number>;
}
