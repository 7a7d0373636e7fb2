// The two ends of a stream: the log that is read, and the receiver that its entries are written to.
import type { PartialText } from './decoder/openTexts.ts';
import type { PartialListener, PartialSubscription } from './partials/livePartials.ts';

export interface Entry {
  /** The position of the entry in its log, as subscribers send it back. */
  readonly cursor: string;
  readonly data: string;
}

export interface LogPage {
  readonly entries: readonly Entry[];
  /** The page was cut, so there may be more. */
  readonly more: boolean;
}

export interface Log {
  /** Identifies the log. */
  readonly topic: string;
  /** Returns the entries after the cursor, in order and bounded; undefined if the log is gone. */
  read(cursor: string): Promise<LogPage | undefined>;
  /** Negative if the first cursor is earlier. */
  compare(a: string, b: string): number;
  isGone(): Promise<boolean>;
  /** Subscribes to the texts that are being written and not in the log yet. */
  openPartials?(listener: PartialListener): PartialSubscription;
}

/** Entries on their way to the subscribers of a log. What they share is computed once for all of them. */
export class Batch<Item = Entry> {
  readonly entries: readonly Item[];
  readonly #shared = new Map<Serialize<Item, unknown>, unknown>();

  constructor(entries: readonly Item[]) {
    this.entries = entries;
  }

  /** Calls the function once, however many subscribers ask. */
  as<Form>(serialize: Serialize<Item, Form>): Form {
    if (!this.#shared.has(serialize)) this.#shared.set(serialize, serialize(this.entries));
    return this.#shared.get(serialize) as Form;
  }
}

type Serialize<Item, Form> = (entries: readonly Item[]) => Form;

/** A connection to a client. */
export interface Receiver {
  /** Returns false if the connection is full. It then gets nothing until it drains. */
  receive(batch: Batch): boolean;
  /** Like `receive`, for partials. It is absent if the client has not asked for them. */
  receivePartials?(batch: Batch<PartialText>): boolean;
  /** Keeps the connection alive while nothing happens. */
  beat(): void;
  /** Closes the connection after everything was sent. */
  end(): void;
  /** Closes the connection at once. */
  destroy(): void;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
}
