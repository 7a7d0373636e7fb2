// What the four protocols have in common: how a body is looked through, and what a protocol must be able to do.
import type { Answer, Asked } from './script.ts';

export type Json = Readonly<Record<string, unknown>>;

/** One event of a stream. */
export interface Sent {
  readonly event?: string;
  readonly data: unknown;
}

export interface ModelProtocol {
  /** Whether a request for that path, without its query, is one for an answer. */
  readonly path: RegExp;
  read(body: Json, url: string): Asked;
  /** The answer as one body. */
  whole(answer: Answer, model: string): Json;
  /** The answer as a stream of events. */
  parts(answer: Answer, model: string): readonly Sent[];
}

/** The words of a text, each with the blanks that follow it: what a stream has of it at a time. */
export function piecesOf(text: string): string[] {
  return text.split(/(?<=\s)(?=\S)/);
}

/** What every answer says that it took, in tokens. */
export const scriptedUsage = { input: 100, output: 10 };

export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
}

function partText({ type, text, inlineData }: Json): string {
  if (typeof text === 'string') return text;
  return inlineData !== undefined || String(type).includes('image') ? '[image]' : '';
}

/** The text of a content: a string, or a list of parts that hold one. Images are named. */
export function textOf(content: unknown): string {
  return typeof content === 'string' ? content : objects(content).map(partText).join('');
}
