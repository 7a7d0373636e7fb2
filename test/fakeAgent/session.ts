// A session of the fake agent. What it remembers and what was said is kept under HOME, so that it can be loaded again.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { McpServer, SessionUpdate } from '@agentclientprotocol/sdk';

interface Kept {
  readonly remembered: readonly string[];
  readonly history: readonly SessionUpdate[];
}

export interface Session {
  readonly id: string;
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  modeId: string | undefined;
  /** Of the prompt that is under way. */
  turn: AbortController | undefined;
}

const folder = join(homedir(), '.fakeAgent');
const fileOf = (id: string) => join(folder, `${id.replaceAll(/[^\w-]/g, '_')}.json`);

/** Undefined where there is no such session. */
export function findKept(id: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(id), 'utf8')) as Kept;
  } catch {
    return undefined;
  }
}

export function keep(id: string, add: Partial<Kept>): void {
  const { remembered = [], history = [] } = findKept(id) ?? {};
  mkdirSync(folder, { recursive: true });
  const kept: Kept = {
    remembered: [...remembered, ...(add.remembered ?? [])],
    history: [...history, ...(add.history ?? [])],
  };
  // At once: it may be killed at any moment, and must not forget what it knew.
  writeFileSync(`${fileOf(id)}.new`, JSON.stringify(kept));
  renameSync(`${fileOf(id)}.new`, fileOf(id));
}
