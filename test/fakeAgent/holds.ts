// Moments at which the fake agent waits for as long as a test wants: while HOME/hold-NAME is there. That it waits is
// told by HOME/hold-NAME.reached.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** `start`: before it answers anything. `prompt`: before it notes a prompt. `answer`: before it ends a turn. */
export const moments = ['start', 'prompt', 'answer'] as const;
export type Moment = (typeof moments)[number];

const pollMs = 10;

const fileOf = (home: string, moment: Moment) => join(home, `hold-${moment}`);
const reachedFileOf = (home: string, moment: Moment) => `${fileOf(home, moment)}.reached`;

export async function holdAt(moment: Moment): Promise<void> {
  const home = homedir();
  if (!existsSync(fileOf(home, moment))) return;
  writeFileSync(reachedFileOf(home, moment), '');
  while (existsSync(fileOf(home, moment))) await wait(pollMs);
}

export function hold(home: string, moment: Moment): void {
  rmSync(reachedFileOf(home, moment), { force: true });
  writeFileSync(fileOf(home, moment), '');
}

export function letGo(home: string, moment: Moment): void {
  rmSync(fileOf(home, moment), { force: true });
}

export function isHeld(home: string, moment: Moment): boolean {
  return existsSync(reachedFileOf(home, moment));
}
