// The recent history of a conversation as text, for an agent that has a new session.
import type { Database } from '../../db/transaction.ts';
import { readEvents, type StoredEvent } from '../../events/store.ts';
import { type HistoryLine, toHistoryLine } from './historyLines.ts';

const pieceEventsMax = 500;
const pieceBytesMax = 1_048_576;
const piecesMax = 10;
const charsMax = 40_000;
/** The share for actions, because messages matter more. */
const stepsCharsMax = 20_000;

const leftOut: HistoryLine = { text: '(Steps before this one are left out.)', isStep: true };

interface HistoryOptions {
  readonly database: Database;
  readonly key: number;
  /** The first event that no agent was given yet. Messages of the user from there on are not history. */
  readonly heard: number;
  /** The first event that is not history, whatever its source. */
  readonly below: number;
}

export interface History {
  /** Oldest first; empty if there is nothing. */
  readonly text: string;
  readonly hasSteps: boolean;
}

/** The agent gets such an event as a message. */
function isStillToCome({ id, json }: StoredEvent, heard: number): boolean {
  if (id < heard || !json.includes('"source":"user"')) return false;
  const { source, replayed } = JSON.parse(json) as { source?: string; replayed?: boolean };
  return source === 'user' && replayed !== true;
}

/** Collects lines from the newest on until the limit is reached. */
function createCollection() {
  const lines: HistoryLine[] = [];
  let chars = 0;
  let stepsChars = 0;
  let stepsFull = false;
  return {
    lines,
    /** Returns false if it is full. */
    add: (line: HistoryLine): boolean => {
      const { text, isStep } = line;
      if (isStep && stepsFull) return true;
      if (isStep && stepsChars + text.length > stepsCharsMax) {
        stepsFull = true;
        lines.unshift(leftOut);
        return true;
      }
      chars += text.length;
      if (chars > charsMax && lines.length > 0) return false;
      stepsChars += isStep ? text.length : 0;
      lines.unshift({ isStep, text: text.slice(0, charsMax).toWellFormed() });
      return true;
    },
  };
}

/** Actions follow each other directly; messages are separated by empty lines. */
function join(lines: readonly HistoryLine[]): string {
  return lines.reduce((text, line, i) => {
    const before = lines[i - 1];
    const gap = before === undefined ? '' : before.isStep && line.isStep ? '\n' : '\n\n';
    return `${text}${gap}${line.text}`;
  }, '');
}

/** Returns the newest part of the history before `below` that fits. */
export async function readHistory({ database, key, heard, below }: HistoryOptions): Promise<History> {
  const { lines, add } = createCollection();
  let end = below;
  let full = false;
  for (let pieces = 0; pieces < piecesMax && end > 0 && !full; pieces++) {
    const piece = await database.run(readEvents, {
      conversation: key,
      from: 0,
      below: end,
      newestFirst: true,
      max: pieceEventsMax,
      bytesMax: pieceBytesMax,
    });
    for (const event of piece) {
      const line = isStillToCome(event, heard) ? undefined : toHistoryLine(event.json);
      full = line !== undefined && !add(line);
      if (full) break;
    }
    end = piece.at(-1)?.id ?? 0;
  }
  return { text: join(lines), hasSteps: lines.some(({ isStep }) => isStep) };
}
