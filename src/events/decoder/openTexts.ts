// Joins the partials of a stream to the texts that are being written. It has no dependencies, because the client and the
// web UI use it, too.

export const partialKinds = ['message', 'thought', 'output'] as const;
export type PartialKind = (typeof partialKinds)[number];

/** Text of a message, a thought or an output that is not in the log yet. */
export interface PartialText {
  /** The id of the tool call for output, else an id that the event of the message repeats. */
  readonly of: string;
  readonly kind: PartialKind;
  /** The position of `text` in the whole text, in UTF-16 units. Text that was there is replaced from here on. */
  readonly from: number;
  readonly text: string;
}

/** What is known of an unfinished text. Its beginning may already be in the log, or left out because it is long. */
export type OpenText = PartialText;

/** The fields of an event that end partials. */
export interface CoveringEvent {
  readonly observation?: string | undefined;
  readonly tool_call_id?: string | undefined;
  readonly partial?: { readonly of: string; readonly to: number } | undefined;
  /** Events of another conversation end nothing. */
  readonly replayed?: boolean | undefined;
}

/** Only the end of a longer text is kept. */
const textCharsMax = 128 * 1_024;

/** Agents choose the ids of tool calls, so one of them may equal the id of a message. */
export function partialKey({ of, kind }: Pick<PartialText, 'of' | 'kind'>): string {
  return kind === 'output' ? `o${of}` : `m${of}`;
}

/** Applies a partial to what was there before. Undefined if nothing is left. */
export function joinPartial(before: OpenText | undefined, partial: PartialText): OpenText | undefined {
  const { from, text } = partial;
  const isWithin = before !== undefined && from >= before.from && from <= before.from + before.text.length;
  const joined = isWithin
    ? { ...partial, from: before.from, text: before.text.slice(0, from - before.from) + text }
    : partial;
  if (joined.text === '') return undefined;
  const over = joined.text.length - textCharsMax;
  return over > 0 ? { ...joined, from: joined.from + over, text: joined.text.slice(over) } : joined;
}

/** Drops what an event has covered. Undefined if nothing is left. */
export function cutOpenText(open: OpenText, to: number): OpenText | undefined {
  if (to <= open.from) return open;
  const text = open.text.slice(to - open.from);
  return text === '' ? undefined : { ...open, from: to, text };
}

export interface OpenTexts {
  add(partial: PartialText): void;
  /** Drops what the event replaces. Returns whether that has changed anything. */
  cover(event: CoveringEvent): boolean;
  /** Must be called when a connection is lost: the next one sends everything again. */
  clear(): void;
  /** In the order in which they began. */
  list(): readonly OpenText[];
}

export function createOpenTexts(): OpenTexts {
  const open = new Map<string, OpenText>();

  function set(key: string, text: OpenText | undefined): void {
    if (text === undefined) open.delete(key);
    else open.set(key, text);
  }

  return {
    add: (partial) => {
      const key = partialKey(partial);
      set(key, joinPartial(open.get(key), partial));
    },
    cover: ({ partial, observation, tool_call_id: call, replayed = false }) => {
      if (replayed) return false;
      if (partial !== undefined) {
        const key = partialKey({ of: partial.of, kind: 'message' });
        const before = open.get(key);
        if (before === undefined) return false;
        const rest = cutOpenText(before, partial.to);
        set(key, rest);
        return rest !== before;
      }
      return (
        observation !== undefined &&
        call !== undefined &&
        open.delete(partialKey({ of: call, kind: 'output' }))
      );
    },
    clear: () => open.clear(),
    list: () => [...open.values()],
  };
}
