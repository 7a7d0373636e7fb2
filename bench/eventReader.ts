// Finds the ids of events in the bytes of a stream, without parsing more of it.
import { checkOk } from './answerReader.ts';

const idName = Buffer.from('\nid: ');
const lineFeed = 10;
const zero = 48;
const letterD = 100;

/** Whether the bytes end with a complete frame, so that no line is cut. */
function endsWhole(bytes: Buffer): boolean {
  return bytes[bytes.length - 1] === lineFeed;
}

/** Calls `onEvent` for each event. Throws if the response is not 200, or an event is missing or comes twice. */
export function eventReader(onEvent: (id: number) => void): (bytes: Buffer) => void {
  let held: Buffer | undefined;
  let begun = false;
  let next = 0;
  return (fresh) => {
    const bytes = held === undefined ? fresh : Buffer.concat([held, fresh]);
    // The socket reuses its buffer for the next read.
    held = endsWhole(bytes) ? undefined : Buffer.from(bytes);
    if (held !== undefined) return;
    if (!begun) checkOk(bytes);
    begun = true;
    for (let at = bytes.indexOf(idName); at >= 0; at = bytes.indexOf(idName, at)) {
      at += idName.length;
      let id = 0;
      for (let digit = bytes[at] ?? lineFeed; digit !== lineFeed; digit = bytes[++at] ?? lineFeed)
        id = id * 10 + digit - zero;
      // A stream begins with a cursor without data.
      if (bytes[at + 1] !== letterD) continue;
      if (id !== next) throw new Error(`event ${id} came where ${next} was due`);
      next += 1;
      onEvent(id);
    }
  };
}
