// Server-sent events, taken apart by hand: an EventSource cannot send a key.
import { ParleyError } from './errors.ts';

export interface Frame {
  /** Undefined where the frame names none. */
  readonly id: string | undefined;
  readonly event: string;
  /** Empty where the frame only moves the place or asks for patience. */
  readonly data: string;
  readonly retryMs: number | undefined;
}

/** Of one frame that has not ended. */
const frameCharsMax = 64 * 1_024 * 1_024;
/** Ours have one of data; each takes more memory than its characters. */
const frameLinesMax = 10_000;

const tooLarge = () => new ParleyError('unexpected', 'An event of the stream is too large.');

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

/** Takes text in any pieces and gives the frames that have ended. Comments are left out. */
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
