// What the four protocols have in common, and the interface of a protocol.
import type { Answer, ModelRequest } from './script.ts';

export type Json = Readonly<Record<string, unknown>>;

/** One event of a stream. */
export interface Sent {
  readonly event?: string;
  readonly data: unknown;
}

export interface ModelProtocol {
  /** Matches the paths, without query, of requests for an answer. */
  readonly path: RegExp;
  read(body: Json, url: string): ModelRequest;
  /** The answer as one body. */
  whole(answer: Answer, model: string): Json;
  /** The answer as a stream of events. */
  parts(answer: Answer, model: string): readonly Sent[];
}

/** Splits a text into words with the blanks after them, which are the pieces of a stream. */
export function piecesOf(text: string): string[] {
  return text.split(/(?<=\s)(?=\S)/);
}

/** The token usage that every answer reports. */
export const scriptedUsage = { input: 100, output: 10 };

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

function partText({ type, text, inlineData }: Json): string {
  if (typeof text === 'string') return text;
  return inlineData !== undefined || String(type).includes('image') ? '[image]' : '';
}

/** Returns the text of a content, which is a string or a list of parts. Images are replaced with a placeholder. */
export function textOf(content: unknown): string {
  return typeof content === 'string' ? content : objects(content).map(partText).join('');
}
