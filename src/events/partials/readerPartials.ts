// The parts of unfinished texts that the subscribers of a log have. Partials and events may come from different processes, so
// a partial can arrive after the event that replaces it: such a partial is cut or left out here.
import { decode } from '../decoder/decode.ts';
import {
  type CoveringEvent,
  createOpenTexts,
  type OpenText,
  type PartialText,
  partialKey,
} from '../decoder/openTexts.ts';
import type { Entry } from '../receiver.ts';

/** How many ended messages and calls are remembered. Later partials of older ones do not occur. */
const endedMax = 1_000;

function remember<Value>(ended: Map<string, Value>, id: string, value: Value): void {
  ended.delete(id);
  ended.set(id, value);
  const [oldest] = ended.keys();
  if (ended.size > endedMax && oldest !== undefined) ended.delete(oldest);
}

/** Most events end no text, and parsing takes time. */
function coveringOf({ data }: Entry): CoveringEvent | undefined {
  if (!data.includes('"partial":') && !data.includes('"tool_call_id":')) return undefined;
  const event = decode(JSON.parse(data));
  return event['replayed'] === true ? undefined : (event as CoveringEvent);
}

export function createReaderPartials() {
  const open = createOpenTexts();
  /** How much of each message is in the log. */
  const covered = new Map<string, number>();
  const endedCalls = new Map<string, true>();

  /** What subscribers must still get of a partial. */
  function restOf(partial: PartialText): PartialText | undefined {
    if (partial.kind === 'output') return endedCalls.has(partial.of) ? undefined : partial;
    const to = covered.get(partial.of) ?? 0;
    if (partial.from >= to || partial.text === '') return partial;
    const text = partial.text.slice(to - partial.from);
    return text === '' ? undefined : { ...partial, from: to, text };
  }

  return {
    /** Returns what to send to subscribers. */
    add: (partials: readonly PartialText[]): PartialText[] => {
      const rest = partials.map(restOf).filter((partial) => partial !== undefined);
      for (const partial of rest) open.add(partial);
      return rest;
    },
    /** The events are sent to subscribers. */
    cover: (entries: readonly Entry[]): void => {
      for (const event of entries.map(coveringOf)) {
        if (event === undefined) continue;
        open.cover(event);
        const { partial, observation, tool_call_id: call } = event;
        if (partial !== undefined) remember(covered, partial.of, partial.to);
        else if (observation !== undefined && call !== undefined) remember(endedCalls, call, true);
      }
    },
    /** Returns partials that remove the texts at subscribers. Another run may use the same ids of calls. */
    reset: (): PartialText[] => {
      const gone = open.list().map(({ of, kind }) => ({ of, kind, from: 0, text: '' }));
      open.clear();
      endedCalls.clear();
      return gone;
    },
    list: (): readonly OpenText[] => open.list(),
    /** Whether subscribers have a part of each of these texts. */
    hasAll: (partials: readonly PartialText[]): boolean => {
      const known = new Set(open.list().map(partialKey));
      return partials.every((partial) => partial.text === '' || known.has(partialKey(partial)));
    },
  };
}
