// Each start of the fake agent is noted under HOME, with those before it that were still alive: in one home there must
// never be two.
import { appendFileSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isRunning, type KnownProcess, knownProcess } from '../../src/sandbox/processes.ts';

export interface AgentStart extends KnownProcess {
  /** Numbers of those that ran already. */
  readonly beside: readonly number[];
}

const startsName = 'starts.jsonl';

export function readStarts(home: string): AgentStart[] {
  try {
    const lines = readFileSync(join(home, startsName), 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as AgentStart);
  } catch {
    return [];
  }
}

export function noteStart(): void {
  const home = homedir();
  const beside = readStarts(home)
    .filter(isRunning)
    .map(({ pid }) => pid);
  const start: AgentStart = { ...knownProcess(process.pid), beside };
  appendFileSync(join(home, startsName), `${JSON.stringify(start)}\n`);
}
