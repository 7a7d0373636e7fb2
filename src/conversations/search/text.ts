// The text of an event that can be searched: what was said, commands and their output, paths of edited files, errors.
// It is taken from the log as everybody reads it, in which secrets are masked.
import { type Decoded, decode } from '../../events/decoder/decode.ts';
import { wordsOf } from './words.ts';

/** How much of a message is indexed. */
const messageCharsMax = 256 * 1_024;
/** How much of the output of a command is indexed: its beginning. */
const outputCharsMax = 32 * 1_024;
/** How many words of an event are indexed. PostgreSQL cannot store the positions of more. */
export const eventWordsMax = 16_000;

type TextOf = (event: Decoded) => unknown;

const argument =
  (name: string): TextOf =>
  ({ args }) =>
    (args as Readonly<Record<string, unknown>> | undefined)?.[name];

const texts: Readonly<Record<string, { readonly textOf: TextOf; readonly charsMax: number }>> = {
  'action.message': { textOf: argument('content'), charsMax: messageCharsMax },
  'action.run': { textOf: argument('command'), charsMax: outputCharsMax },
  'action.edit': { textOf: argument('path'), charsMax: outputCharsMax },
  'observation.run': { textOf: ({ content }) => content, charsMax: outputCharsMax },
  'observation.error': { textOf: ({ content }) => content, charsMax: outputCharsMax },
};

export interface EventSummary {
  readonly text: string;
  readonly source: string;
  readonly timestamp: string;
}

/** Returns undefined if the event has no text that can be searched. Never throws. */
export function searchableText(json: string): EventSummary | undefined {
  let event: Decoded;
  try {
    event = decode(JSON.parse(json));
  } catch {
    return undefined;
  }
  const known = Object.hasOwn(texts, event.type) ? texts[event.type] : undefined;
  const found = known?.textOf(event);
  if (known === undefined || typeof found !== 'string' || found === '') return undefined;
  return {
    text: found.slice(0, known.charsMax),
    source: String(event['source']),
    timestamp: String(event['timestamp']),
  };
}

/** The words of a text as they are indexed. */
export function indexedWords(text: string): string[] {
  return wordsOf(text)
    .take(eventWordsMax)
    .map(({ word }) => word)
    .toArray();
}
