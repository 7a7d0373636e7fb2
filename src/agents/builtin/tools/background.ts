// The background commands, by the ids that the model uses.
import type { Command } from './command.ts';

export const backgroundMax = 8;
/** The limit of ended commands that are kept. The oldest is removed first. */
const endedMax = 16;

export interface Background {
  /** Returns undefined if too many commands run already. */
  add(command: Command): string | undefined;
  isFull(): boolean;
  find(id: string): Command | undefined;
  /** Lists the running commands, one per line. */
  describe(): string;
  all(): readonly Command[];
}

const shownCharsMax = 80;

export function createBackground(): Background {
  const commands = new Map<string, Command>();
  let last = 0;

  const running = () => [...commands].filter(([, command]) => command.isAlive());
  const isFull = () => running().length >= backgroundMax;

  function forget(): void {
    const ended = [...commands].filter(([, command]) => !command.isAlive());
    for (const [id] of ended.slice(0, -endedMax)) commands.delete(id);
  }

  function add(command: Command): string | undefined {
    if (isFull()) return undefined;
    last += 1;
    const id = `bg${last}`;
    commands.set(id, command);
    forget();
    return id;
  }

  function describe(): string {
    const lines = running().map(([id, { text }]) => `${id}: ${text.slice(0, shownCharsMax)}`);
    return lines.length === 0 ? 'No background command runs.' : `In the background run:\n${lines.join('\n')}`;
  }

  return { add, isFull, find: (id) => commands.get(id), describe, all: () => [...commands.values()] };
}
