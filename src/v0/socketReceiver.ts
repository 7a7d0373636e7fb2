// Sends the log of a conversation to a socket: first the events that the client does not have, then new ones.
import type { Socket } from 'socket.io';
import type { Batch, Receiver } from '../events/receiver.ts';
import { mib } from '../validation/schema.ts';
import { type SocketEvent, toPacket, translateEntries } from './translate.ts';

/** With more characters on their way, the socket gets nothing until all were sent. */
const unsentCharsMax = 65_536;
/** With more on the way to all sockets together, those that do not read are closed. */
const allUnsentCharsMax = 128 * mib;

/** What all sockets together have not taken yet. */
export type UnsentChars = ReturnType<typeof createUnsentChars>;

export function createUnsentChars(charsMax = allUnsentCharsMax) {
  let all = 0;
  return {
    add: (chars: number) => {
      all += chars;
    },
    /** Whether a socket with so many unsent characters has to be closed. */
    isTooMuch: (own: number) => all > charsMax && own > unsentCharsMax,
    total: () => all,
  };
}

interface ReplayOptions {
  readonly socket: Socket;
  readonly unsent: UnsentChars;
  /** Events below this id were there when the client connected. */
  readonly replayBelow: number;
}

/** Sends packets, and counts what the client has not taken yet, so that a slow one does not fill memory. */
function createSender(socket: Socket, unsent: UnsentChars) {
  const { conn } = socket;
  const listeners: (() => void)[] = [];
  let unsentChars = 0;

  function count(chars: number): void {
    unsentChars += chars;
    unsent.add(chars);
  }

  socket.once('disconnect', () => count(-unsentChars));

  function send(packet: string): void {
    if (!socket.connected) return;
    count(packet.length);
    // The client can connect again and continue.
    if (unsent.isTooMuch(unsentChars)) return void socket.disconnect(true);
    conn.write(packet, {}, () => {
      if (!socket.connected) return;
      count(-packet.length);
      if (unsentChars === 0) for (const listener of listeners) listener();
    });
  }

  return {
    send,
    isFull: () => unsentChars > unsentCharsMax,
    onDrain: (listener: () => void) => void listeners.push(listener),
  };
}

/**
 * While old events are sent, changes of state are held back and only the newest is sent, after all others: clients keep
 * their input closed until they see it.
 */
export function conversationReceiver({ socket, unsent, replayBelow }: ReplayOptions): Receiver {
  const { send, isFull, onDrain } = createSender(socket, unsent);
  let heldState: string | undefined;
  let isReplaying = replayBelow > 0;

  function finishReplay(): void {
    isReplaying = false;
    if (heldState !== undefined) send(heldState);
    heldState = undefined;
  }

  function receive(batch: Batch): boolean {
    for (const { id, packet, isStateChange } of batch.as(translateEntries)) {
      if (isReplaying && id >= replayBelow) finishReplay();
      if (packet === undefined) continue;
      if (isReplaying && isStateChange) heldState = packet;
      else send(packet);
    }
    const last = batch.entries.at(-1);
    if (isReplaying && last !== undefined && Number(last.cursor) >= replayBelow - 1) finishReplay();
    return !isFull();
  }

  return { receive, onDrain, ...connectionOf(socket) };
}

/** Sends what `toUpdates` makes of the changes of the user's conversations. */
export function changesReceiver(
  socket: Socket,
  unsent: UnsentChars,
  toUpdates: (data: string) => readonly SocketEvent[],
): Receiver {
  const { send, isFull, onDrain } = createSender(socket, unsent);
  return {
    receive: (batch) => {
      for (const { data } of batch.entries) for (const update of toUpdates(data)) send(toPacket(update));
      return !isFull();
    },
    onDrain,
    ...connectionOf(socket),
  };
}

function connectionOf(socket: Socket): Omit<Receiver, 'receive' | 'onDrain'> {
  const close = () => void socket.disconnect(true);
  return {
    // Engine.IO sends pings itself.
    beat: () => {},
    end: close,
    destroy: close,
    onClose: (listener) => void socket.on('disconnect', () => listener()),
  };
}
