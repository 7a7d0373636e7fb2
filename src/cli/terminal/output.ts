// What a command says: to people on a terminal, as lines of JSON to programs.
import { styleText } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { jsonLine, plainText } from './plainText.ts';

export type Style = (format: Parameters<typeof styleText>[0], text: string) => string;

export interface Output {
  readonly isJson: boolean;
  /** Whether somebody looks on: then a line may be written over. */
  readonly isLive: boolean;
  readonly style: Style;
  readonly columns: number;
  /** For programs. */
  json(value: unknown): void;
  /** For people. Of what terminals obey only styles and a line that is written over come through. */
  text(text: string): void;
  /** For people, and beside the output. */
  note(text: string): void;
}

const columnsUsual = 100;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const ownControls = /(\u001b\[[\d;]*m|\r\u001b\[K)/;

/** Whatever a service has slipped into a place that nobody thought of is spelled out here at last. */
function shown(said: string): string {
  return said
    .split(ownControls)
    .map((piece, i) => (i % 2 === 1 ? piece : plainText(piece)))
    .join('');
}

/** Of every command that can do both. */
export const outputOptions = {
  json: { type: 'boolean', default: false },
  text: { type: 'boolean', default: false },
} as const;

export function createOutput({ json, text }: { readonly json: boolean; readonly text: boolean }): Output {
  if (json && text) throw new RefusalError('Say --json or --text, not both.');
  const isJson = json || (!text && !process.stdout.isTTY);
  return {
    isJson,
    isLive: !isJson && process.stdout.isTTY === true,
    // It looks at NO_COLOR and at the terminal.
    style: (format, styled) => styleText(format, styled, { stream: process.stdout }),
    // Some terminals say 0.
    columns: process.stdout.columns || columnsUsual,
    json: (value) => void process.stdout.write(jsonLine(value)),
    text: (said) => void process.stdout.write(shown(said)),
    note: (said) => void process.stderr.write(shown(said)),
  };
}
