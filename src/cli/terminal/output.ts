// What a command prints: text for people, or JSON lines for programs if they ask for it.
import { styleText } from 'node:util';
import { jsonLine, plainText } from '../../text/plainText.ts';

export type Style = (format: Parameters<typeof styleText>[0], text: string) => string;

export interface Output {
  readonly isJson: boolean;
  /** Whether text goes to a terminal, so that a line can be overwritten. */
  readonly isLive: boolean;
  readonly style: Style;
  readonly columns: number;
  /** For programs. */
  json(value: unknown): void;
  /** For people. The only control sequences that come through are styles and the overwriting of a line. */
  text(text: string): void;
  /** For people, on standard error. */
  note(text: string): void;
  /** Rings the bell of the terminal, if there is one. */
  bell(): void;
}

const columnsDefault = 100;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences to look for
const ownControls = /(\u001b\[[\d;]*m|\r\u001b\[K)/;

/** The last guard: makes every other control character visible, wherever a service has put it. */
function visible(text: string): string {
  return text
    .split(ownControls)
    .map((piece, i) => (i % 2 === 1 ? piece : plainText(piece)))
    .join('');
}

export function createOutput({ json }: { readonly json: boolean }): Output {
  const isLive = !json && process.stdout.isTTY === true;
  return {
    isJson: json,
    isLive,
    // It respects NO_COLOR, and adds no colours in a pipe.
    style: (format, styled) => styleText(format, styled, { stream: process.stdout }),
    // Some terminals report 0.
    columns: process.stdout.columns || columnsDefault,
    json: (value) => void process.stdout.write(jsonLine(value)),
    text: (text) => void process.stdout.write(visible(text)),
    note: (text) => void process.stderr.write(visible(text)),
    bell: () => {
      if (isLive) process.stdout.write('\u0007');
    },
  };
}
