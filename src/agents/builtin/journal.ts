// The journal of a session: a file in the home with a line for each step, written before the next step begins. After a
// kill, the session resumes from it.

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
import { addResult } from './history.ts';

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
  /** The messages for the model. The list grows with each entry. */
  readonly messages: readonly ModelMessage[];
  /** The last turn in the journal; null if it is empty, undefined if its turns have no numbers. */
  recordedTurn(): RecordedTurn;
  addMessage(message: ModelMessage, turn?: number): void;
  /** Must be called before a call has any effect. */
  begin(callId: string): void;
  addResult(result: ToolResultPart): void;
  /** Replaces all messages. */
  replace(messages: readonly ModelMessage[]): void;
  /** Adds results to calls that have none, which say that they were interrupted. */
  settle(): void;
  /** Later entries are ignored. */
  close(): void;
}

const sessionId = /^[0-9a-f-]{36}$/;
/** A larger journal is not resumed. */
const bytesMax = 256 * mib;

function fileOf(home: string, id: string): string {
  return join(home, '.parley-agent', 'sessions', `${id}.jsonl`);
}

/** Changes the list in place: a copy for each entry would make the time of a resumption grow with its square. */
function apply(messages: ModelMessage[], entry: Entry): ModelMessage[] {
  if ('replaced' in entry) return [...entry.replaced];
  if ('message' in entry) messages.push(entry.message);
  if ('result' in entry) addResult(messages, entry.result);
  return messages;
}

const numbered = (turn: number | undefined) => (turn === undefined ? {} : { turn });

/** A message without a number comes from a client that does not number turns. */
function recordedAfter(recorded: RecordedTurn, entry: Entry): RecordedTurn {
  if ('message' in entry || 'replaced' in entry) return entry.turn ?? recorded ?? undefined;
  return recorded;
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

/** Returns undefined if the file is damaged, because providers would refuse an incomplete history in every request. */
function readEntries(file: string): Entry[] | undefined {
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  // A line that was cut off by a kill must not become a part of the next line.
  if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
  const entries = whole.split('\n').slice(0, -1).map(parseLine);
  return entries.every(isEntry) ? entries : undefined;
}

/** Returns the calls of the last message whose results are missing. */
function openCalls(messages: readonly ModelMessage[]): ToolCallPart[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const answer = messages[at];
  if (answer?.role !== 'assistant' || typeof answer.content === 'string') return [];
  const results = messages
    .slice(at + 1)
    .flatMap((message) => (message.role === 'tool' ? message.content : []));
  const answered = new Set(results.map((part) => (part.type === 'tool-result' ? part.toolCallId : '')));
  return answer.content
    .filter((part) => part.type === 'tool-call')
    .filter((c) => !answered.has(c.toolCallId));
}

const outcomes = {
  unknown:
    'You were interrupted while this ran, so its outcome is unknown: it may have been done in full, in part or not at all. Look at how things stand before you do it again.',
  notBegun: 'You were interrupted before this was begun. Nothing of it was done.',
};

/** Writes all of the text or nothing, because the disk may be full. */
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
  let messages = entries.reduce<ModelMessage[]>(apply, []);
  let noted = entries.reduce<RecordedTurn>(recordedAfter, null);
  let isOpen = true;

  function add(entry: Entry): void {
    if (!isOpen) return;
    append(handle, lineOf(entry));
    messages = apply(messages, entry);
    noted = recordedAfter(noted, entry);
    if ('began' in entry) begun.add(entry.began);
  }

  /** Writes a new file, so that the replaced messages are not read again. */
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
    recordedTurn: () => noted,
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

/** Removes anything at this path that is not a folder. */
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

/** Commands of the model can write to the home, so the path may be anything. */
function isOurs(file: string): boolean {
  try {
    const stats = lstatSync(file);
    return stats.isFile() && stats.size <= bytesMax;
  } catch {
    return false;
  }
}

/**
 * Returns undefined if there is no journal or it cannot be used. Calls that were in progress get a result that says so.
 */
export function resumeJournal(home: string, id: string): Journal | undefined {
  const file = fileOf(home, id);
  if (!sessionId.test(id) || !isOurs(file)) return undefined;
  const entries = readEntries(file);
  return entries === undefined || entries.length === 0 ? undefined : open(file, entries);
}
