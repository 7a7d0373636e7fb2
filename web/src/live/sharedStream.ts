// One tab reads the stream of changes for all tabs that use the same API key. Over plain HTTP a browser opens at most six
// connections to a host, and every open conversation needs one of them.

/** What the tab that reads the stream tells the others. */
export type StreamMessage<Item> =
  | { readonly item: Item }
  | { readonly state: 'live' | 'reconnecting' }
  | { readonly reset: true };

export interface SharedStreamOptions<Item> {
  /** The same in all tabs that share the stream. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Reads the stream until the signal aborts; throws when it breaks. */
  readonly read: (emit: (message: StreamMessage<Item>) => void) => Promise<void>;
  /** `isReader`: this tab reads the stream. */
  readonly onMessage: (message: StreamMessage<Item>, isReader: boolean) => void;
  /** Messages of another tab are received from now on. */
  readonly onJoined: () => void;
}

/** Browsers offer locks only to pages that were loaded over https, or from this machine. */
export function canShareStreams(): boolean {
  return 'locks' in navigator && 'BroadcastChannel' in globalThis;
}

/** Reads the stream as soon as no other tab does. Until then, receives what the other tab reads. */
export async function readShared<Item>(options: SharedStreamOptions<Item>): Promise<void> {
  const { name, signal, read, onMessage, onJoined } = options;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<StreamMessage<Item>>) => onMessage(data, false);
  onJoined();
  try {
    await navigator.locks.request(name, { signal }, () =>
      read((message) => {
        channel.postMessage(message);
        onMessage(message, true);
      }),
    );
  } finally {
    channel.close();
  }
}
