// Events as the client returns them: decoded, so that TypeScript narrows on their `type`.
import { decode } from '../events/decoder/decode.ts';
import { ParleyError } from './errors.ts';
import type { ParleyEvent } from './types.ts';

/** For events that come from elsewhere, such as a webhook or a file. Never throws, whatever the value is. */
export function decodeEvent(value: unknown): ParleyEvent {
  return decode(value) as unknown as ParleyEvent;
}

/** Throws a ParleyError where it is not a list. */
export function decodeEvents(list: unknown): ParleyEvent[] {
  if (!Array.isArray(list)) throw new ParleyError('unexpected', 'The answer holds no list of events.');
  return list.map(decodeEvent);
}
