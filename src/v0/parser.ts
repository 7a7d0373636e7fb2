// Parses the packets of socket.io with the limits of JSON bodies, because a large packet of many small values takes
// gigabytes. Existing clients send no binary data, so it is refused.
import { Decoder, Encoder } from 'socket.io-parser';
import { bodyValuesMax } from '../http/body.ts';
import { findTooManyValues } from '../validation/tooManyValues.ts';

/** The types BINARY_EVENT and BINARY_ACK. */
const binaryTypes = /^[56]/;

class LimitedDecoder extends Decoder {
  /** Throws if the packet must not be parsed. The connection is then closed. */
  override add(packet: unknown): void {
    if (typeof packet !== 'string' || binaryTypes.test(packet))
      throw new Error('Binary packets are not supported.');
    const fault = findTooManyValues(Buffer.from(packet), bodyValuesMax);
    if (fault !== undefined) throw new Error(`A packet ${fault}.`);
    super.add(packet);
  }
}

export const parser = { Encoder, Decoder: LimitedDecoder };
