// With `--activity` the fake agent writes down under HOME when it lives and what it is given, so that a test can tell
// whether two of them ever lived at the same time. Times are of the clock that all processes of a machine share.
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface ActivityLine {
  /** Another for each start: process ids repeat, and in a sandbox they are all alike. */
  readonly agent: string;
  readonly atNs: string;
  readonly kind: 'start' | 'beat' | 'prompt';
  readonly text?: string;
}

const fileName = 'activity.jsonl';
const beatMs = 50;

export const agentId = randomBytes(4).toString('hex');
let isOn = false;

/** Whether it was asked for. */
export function isActivityOn(): boolean {
  return isOn;
}

function write(kind: ActivityLine['kind'], text?: string): void {
  if (!isOn) return;
  const line: ActivityLine = {
    agent: agentId,
    atNs: String(process.hrtime.bigint()),
    kind,
    ...(text === undefined ? {} : { text }),
  };
  appendFileSync(join(homedir(), fileName), `${JSON.stringify(line)}\n`);
}

export function startActivity(): void {
  isOn = true;
  write('start');
  setInterval(() => write('beat'), beatMs).unref();
}

export function notePrompt(text: string): void {
  write('prompt', text);
}

/** The whole lines; the last one may have been cut off by a kill. */
export function readActivity(home: string): ActivityLine[] {
  let text: string;
  try {
    text = readFileSync(join(home, fileName), 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as ActivityLine);
}
