// Shows the output of tool calls while they run. Some agents send what was added, others all of it again.
import type { RunPartials } from '../../events/partials/runPartials.ts';
import type { MaskedStream } from '../../text/secretValues.ts';
import { kib } from '../../validation/schema.ts';
import type { OutputField } from '../profileSchema.ts';
import type { Mask } from './bounds.ts';
import { outputOf, terminalOutputOf } from './callFields.ts';
import type { Params } from './peer.ts';

/** A longer output that is sent again and again is not shown before its call ends. */
const resentCharsMax = 256 * kib;

interface Masks {
  readonly mask: Mask;
  readonly maskStream: () => MaskedStream;
}

export function createLiveOutput(
  { mask, maskStream }: Masks,
  texts: RunPartials,
  preferred: OutputField | undefined,
) {
  /** By call, for output that is streamed. */
  const streams = new Map<string, MaskedStream>();
  /** Ids are masked in events, too. */
  const nameOf = (id: string) => mask(id);

  function append(id: string, piece: string): void {
    const masked = streams.get(id) ?? maskStream();
    streams.set(id, masked);
    texts.append('output', nameOf(id), masked.add(piece));
  }

  function replace(id: string, text: string): void {
    if (text.length <= resentCharsMax) texts.replaceOutput(nameOf(id), () => mask(maskStream().add(text)));
  }

  return {
    add: (id: string, update: Params): void => {
      const piece = terminalOutputOf(update);
      const isStreamed = preferred === 'terminal_output' && (piece !== undefined || streams.has(id));
      const output = isStreamed ? undefined : outputOf(update, preferred);
      // As in the event, output that is sent as a whole counts more than what was streamed.
      if (output !== undefined && output !== '') replace(id, output);
      else if (piece !== undefined) append(id, piece);
    },
    drop: (id: string): void => texts.drop('output', nameOf(id)),
    /** `isLeftOut`: no event with the output will follow. */
    end: (id: string, isLeftOut: boolean): void => {
      streams.delete(id);
      if (isLeftOut) texts.drop('output', nameOf(id));
      else texts.end('output', nameOf(id));
    },
  };
}
