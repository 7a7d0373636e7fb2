// Sends the texts of a run to another process, one line of JSON each time, until the run ends.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../process/clock.ts';
import type { PartialText } from '../decoder/openTexts.ts';
import type { LivePartials } from './livePartials.ts';

/** A line of the response. `run` is in the first one. */
export interface RelayLine {
  readonly run?: string;
  /** The texts so far are sent again. */
  readonly reset?: true;
  readonly partials?: readonly PartialText[];
}

/** An empty line shows that the connection works. */
const heartbeat = '\n';
const heartbeatMs = 15_000;

/** The headers must have been sent. A slow reader loses partials, and gets all texts again when it has caught up. */
export function relayPartials(
  { livePartials, clock }: { readonly livePartials: LivePartials; readonly clock: Clock },
  key: number,
  response: ServerResponse,
): void {
  let unsubscribe = () => {};
  let isFull = false;

  const write = (line: RelayLine) => response.write(`${JSON.stringify(line)}\n`);

  function onDrain(): void {
    isFull = false;
    unsubscribe();
    subscribe({ reset: true });
  }

  function add(partials: readonly PartialText[]): void {
    if (isFull || partials.length === 0 || write({ partials })) return;
    isFull = true;
    response.once('drain', onDrain);
  }

  function subscribe(first: RelayLine): void {
    write(first);
    unsubscribe = livePartials.subscribe(key, { add, reset: () => response.end() });
  }

  const run = livePartials.runOf(key);
  if (run === undefined) return void response.end();
  const beats = clock.every(heartbeatMs, () => response.write(heartbeat));
  response.once('close', () => {
    beats.stop();
    unsubscribe();
  });
  subscribe({ run });
}
