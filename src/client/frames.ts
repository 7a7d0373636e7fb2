// Parses server-sent events. EventSource cannot be used, because it cannot send an API key.
import { ParleyError } from './errors.ts';

export interface Frame {
  /** Undefined if the frame has none. */
  readonly id: string | undefined;
  readonly event: string;
  /** Empty if the frame only sends a cursor or a delay. */
  readonly data: string;
  readonly retryMs: number | undefined;
}

/** The limit of a frame that has not ended. */
const frameCharsMax = 64 * 1_024 * 1_024;
/** The frames of Parley have one line of data. Each line takes more memory than its characters. */
const frameLinesMax = 10_000;

const tooLarge = () => new ParleyError('unexpected', 'The stream contains an event that is too large.');

function readFrame(lines: readonly string[]): Frame {
  const data: string[] = [];
  let [id, event, retryMs]: [string | undefined, string, number | undefined] = [
    undefined,
    'message',
    undefined,
  ];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'id') id = value;
    else if (name === 'event') event = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { id, event, data: data.join('\n'), retryMs };
}

/** Returns a function that takes text in any pieces and returns the frames that have ended, without comments. */
export function createFrameReader(): (text: string) => Frame[] {
  let lines: string[] = [];
  let unfinished: string[] = [];
  let chars = 0;

  return (text) => {
    const frames: Frame[] = [];
    const [first = '', ...rest] = text.split('\n');
    unfinished.push(first);
    chars += first.length;
    for (const next of rest) {
      const line = unfinished.join('').replace(/\r$/, '');
      unfinished = [next];
      chars += next.length;
      if (line !== '') {
        if (!line.startsWith(':')) lines.push(line);
        if (lines.length > frameLinesMax) throw tooLarge();
        continue;
      }
      if (lines.length > 0) frames.push(readFrame(lines));
      lines = [];
      chars = next.length;
    }
    if (chars > frameCharsMax) throw tooLarge();
    return frames;
  };
}
