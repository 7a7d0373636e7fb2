// Each prompt that the fake agent receives is written to HOME/prompts.jsonl before it does anything with it: what
// really reached an agent, over all of its sessions.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ContentBlock } from '@agentclientprotocol/sdk';

export interface ReceivedPrompt {
  readonly session: string;
  readonly blocks: readonly ContentBlock[];
}

const fileOf = (home: string) => join(home, 'prompts.jsonl');

export function notePrompt(prompt: ReceivedPrompt): void {
  appendFileSync(fileOf(homedir()), `${JSON.stringify(prompt)}\n`);
}

const answeredFileOf = (home: string) => join(home, 'answered');

/** Once the answer to a prompt has been written. */
export function noteAnswerSoon(): void {
  setTimeout(() => writeFileSync(answeredFileOf(homedir()), ''), 50).unref();
}

export function hasAnswered(home: string): boolean {
  return existsSync(answeredFileOf(home));
}

export function readPrompts(home: string): ReceivedPrompt[] {
  if (!existsSync(fileOf(home))) return [];
  const lines = readFileSync(fileOf(home), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ReceivedPrompt);
}
