// What a session has said and done, line by line in a file of the home: each step is written before the next begins, so
// that a session whose program was killed goes on where it was.

import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { ModelMessage, ToolCallPart, ToolResultPart } from 'ai';
import { isObject } from '../../text/foreignText.ts';
import { mib } from '../../validation/schema.ts';
import type { RecordedTurn } from '../acp/recordedTurns.ts';

type Entry =
  /** The first line. A journal without it is incomplete. */
  | { readonly opened: true }
  /** `turn` is the number of the turn that this message begins, if it begins one. */
  | { readonly message: ModelMessage; readonly turn?: number }
  /** From here on, the tool call with this id may have had an effect. */
  | { readonly began: string }
  | { readonly result: ToolResultPart }
  /** These messages replace all earlier ones. */
  | { readonly replaced: readonly ModelMessage[]; readonly turn?: number };

export interface Journal {
  /** As the model is to read them. */
  readonly messages: readonly ModelMessage[];
  /** The last turn in the journal; null if it is empty, undefined if its turns have no numbers. */
  notedTurn(): RecordedTurn;
  addMessage(message: ModelMessage, turn?: number): void;
  /** Before a call has any effect. */
  begin(callId: string): void;
  addResult(result: ToolResultPart): void;
  /** Puts these in the place of all that was there. */
  replace(messages: readonly ModelMessage[]): void;
  /** Calls that were left without a result get one that says so. */
  settle(): void;
  /** What comes later is not written. */
  close(): void;
}

const sessionId = /^[0-9a-f-]{36}$/;
/** A longer one is not gone on with. */
const bytesMax = 256 * mib;

function fileOf(home: string, id: string): string {
  return join(home, '.parley-agent', 'sessions', `${id}.jsonl`);
}

function withEntry(messages: readonly ModelMessage[], entry: Entry): ModelMessage[] {
  if ('message' in entry) return [...messages, entry.message];
  if ('replaced' in entry) return [...entry.replaced];
  if ('began' in entry || 'opened' in entry) return [...messages];
  const last = messages.at(-1);
  if (last?.role !== 'tool') return [...messages, { role: 'tool', content: [entry.result] }];
  return [...messages.slice(0, -1), { role: 'tool', content: [...last.content, entry.result] }];
}

const numbered = (turn: number | undefined) => (turn === undefined ? {} : { turn });

/** A message without a number comes from a client that does not number turns. */
function notedAfter(noted: RecordedTurn, entry: Entry): RecordedTurn {
  if ('message' in entry || 'replaced' in entry) return entry.turn ?? noted ?? undefined;
  return noted;
}

const roles: readonly unknown[] = ['user', 'assistant', 'tool'];

function isMessage(value: unknown): boolean {
  if (!isObject(value) || !roles.includes(value['role'])) return false;
  const { content } = value;
  return typeof content === 'string' || (Array.isArray(content) && content.every(isObject));
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value)) return false;
  const { opened, message, began, result, replaced, turn } = value;
  if (opened === true) return true;
  if (turn !== undefined && !Number.isSafeInteger(turn)) return false;
  if (message !== undefined) return isMessage(message);
  if (replaced !== undefined) return Array.isArray(replaced) && replaced.every(isMessage);
  if (result !== undefined)
    return isObject(result) && typeof result['toolCallId'] === 'string' && isObject(result['output']);
  return typeof began === 'string';
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Undefined where anything else has written to it, too: a model that reads half of a session is refused for ever. */
function readEntries(file: string): Entry[] | undefined {
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  // What was cut off when its writer died must not become a part of the next line.
  if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
  const entries = whole.split('\n').slice(0, -1).map(parseLine);
  return entries.every(isEntry) ? entries : undefined;
}

/** Calls of the last message whose results are missing. */
function openCalls(messages: readonly ModelMessage[]): ToolCallPart[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const said = messages[at];
  if (said?.role !== 'assistant' || typeof said.content === 'string') return [];
  const told = messages.slice(at + 1).flatMap((message) => (message.role === 'tool' ? message.content : []));
  const answered = new Set(told.map((part) => (part.type === 'tool-result' ? part.toolCallId : '')));
  return said.content.filter((part) => part.type === 'tool-call').filter((c) => !answered.has(c.toolCallId));
}

const outcomes = {
  unknown:
    'You were interrupted while this ran, so its outcome is unknown: it may have been done in full, in part or not at all. Look at how things stand before you do it again.',
  notBegun: 'You were interrupted before this was begun. Nothing of it was done.',
};

/** All of it, or nothing: the disk may be full. */
function append(handle: number, text: string): void {
  const bytes = Buffer.from(text);
  const { size } = fstatSync(handle);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(handle, bytes, written);
    fdatasyncSync(handle);
  } catch (error) {
    ftruncateSync(handle, size);
    throw error;
  }
}

const lineOf = (entry: Entry) => `${JSON.stringify(entry)}\n`;

function open(file: string, entries: readonly Entry[]): Journal {
  let handle = openSync(file, 'a', 0o600);
  const begun = new Set(entries.flatMap((entry) => ('began' in entry ? [entry.began] : [])));
  let messages = entries.reduce<ModelMessage[]>(withEntry, []);
  let noted = entries.reduce<RecordedTurn>(notedAfter, null);
  let isOpen = true;

  function add(entry: Entry): void {
    if (!isOpen) return;
    append(handle, lineOf(entry));
    messages = withEntry(messages, entry);
    noted = notedAfter(noted, entry);
    if ('began' in entry) begun.add(entry.began);
  }

  /** In a file of its own: what it stands for is not read again. */
  function replace(replaced: readonly ModelMessage[]): void {
    if (!isOpen) return;
    const fresh = `${file}.new`;
    writeFileSync(fresh, lineOf({ replaced, ...numbered(noted ?? undefined) }), { mode: 0o600, flush: true });
    renameSync(fresh, file);
    closeSync(handle);
    handle = openSync(file, 'a', 0o600);
    messages = [...replaced];
  }

  function settle(): void {
    for (const { toolCallId, toolName } of openCalls(messages)) {
      const value = begun.has(toolCallId) ? outcomes.unknown : outcomes.notBegun;
      add({ result: { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value } } });
    }
  }

  settle();
  return {
    get messages() {
      return messages;
    },
    notedTurn: () => noted,
    addMessage: (message, turn) => add({ message, ...numbered(turn) }),
    begin: (began) => add({ began }),
    addResult: (result) => add({ result }),
    replace,
    settle,
    close: () => {
      if (isOpen) closeSync(handle);
      isOpen = false;
    },
  };
}

/** Whatever is no folder where one should be goes. */
function ensureFolder(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  rmSync(folder, { force: true });
  mkdirSync(folder, { mode: 0o700 });
}

export function createJournal(home: string, id: string): Journal {
  const file = fileOf(home, id);
  ensureFolder(dirname(dirname(file)));
  ensureFolder(dirname(file));
  const opened: Entry = { opened: true };
  writeFileSync(file, lineOf(opened), { mode: 0o600, flag: 'a', flush: true });
  return open(file, [opened]);
}

/** What lies there may be anything, for commands of the model can reach it, too. */
function isOurs(file: string): boolean {
  try {
    const stats = lstatSync(file);
    return stats.isFile() && stats.size <= bytesMax;
  } catch {
    return false;
  }
}

/**
 * Undefined where there is none, or nothing in it that a model can go on with. Calls that were under way get a result
 * that says so.
 */
export function resumeJournal(home: string, id: string): Journal | undefined {
  const file = fileOf(home, id);
  if (!sessionId.test(id) || !isOurs(file)) return undefined;
  const entries = readEntries(file);
  return entries === undefined || entries.length === 0 ? undefined : open(file, entries);
}
