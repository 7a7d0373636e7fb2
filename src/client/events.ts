// Decodes events, so that TypeScript narrows on their `type`.
import { decode } from '../events/decoder/decode.ts';
import { ParleyError } from './errors.ts';
import type { ParleyEvent } from './types.ts';

/** Decodes an event from elsewhere, such as a webhook or a file. Never throws. */
export function decodeEvent(value: unknown): ParleyEvent {
  return decode(value) as unknown as ParleyEvent;
}

/** Throws a ParleyError if the value is not a list. */
export function decodeEvents(list: unknown): ParleyEvent[] {
  if (!Array.isArray(list)) throw new ParleyError('unexpected', 'The response contains no list of events.');
  return list.map(decodeEvent);
}
