// What a command is: a text that teaches, and what it does.

export interface Command {
  readonly help: string;
  /** Returns the exit code. Throws RefusalError where it is misused. */
  run(argv: readonly string[]): Promise<number>;
}
