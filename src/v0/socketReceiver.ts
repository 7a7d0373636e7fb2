// Sends the log of a conversation to a socket: first the events that the client does not have, then new ones.
import type { Socket } from 'socket.io';
import type { Batch, Receiver } from '../events/hub.ts';
import { isStateChange, type SocketEvent, translateEntries } from './translate.ts';

/** With more packets waiting, the socket gets nothing until some were sent. */
const waitingPacketsMax = 64;

interface ReplayOptions {
  readonly socket: Socket;
  /** Events below this id were there when the client connected. */
  readonly replayBelow: number;
}

/** Counts the packets that the connection has not sent yet. */
function watchSending(socket: Socket) {
  let waiting = 0;
  const { conn } = socket;
  conn.on('packetCreate', () => waiting++);
  conn.on('drain', () => {
    waiting = 0;
  });
  return { isFull: () => waiting > waitingPacketsMax };
}

/**
 * While old events are sent, changes of state are held back and only the newest is sent, after all others: clients keep
 * their input closed until they see it.
 */
export function conversationReceiver({ socket, replayBelow }: ReplayOptions): Receiver {
  const sending = watchSending(socket);
  let heldState: SocketEvent | undefined;
  let isReplaying = replayBelow > 0;

  function finishReplay(): void {
    isReplaying = false;
    if (heldState !== undefined) socket.emit('oh_event', heldState);
    heldState = undefined;
  }

  function receive(batch: Batch): boolean {
    for (const { id, event } of batch.as(translateEntries)) {
      if (isReplaying && id >= replayBelow) finishReplay();
      if (event === undefined) continue;
      if (isReplaying && isStateChange(event)) heldState = event;
      else socket.emit('oh_event', event);
    }
    const last = batch.entries.at(-1);
    if (isReplaying && last !== undefined && Number(last.cursor) >= replayBelow - 1) finishReplay();
    return !sending.isFull();
  }

  return { receive, ...connectionOf(socket) };
}

/** Sends what `toUpdates` makes of the changes of the user's conversations. */
export function changesReceiver(
  socket: Socket,
  toUpdates: (data: string) => readonly SocketEvent[],
): Receiver {
  const sending = watchSending(socket);
  return {
    receive: (batch) => {
      for (const { data } of batch.entries)
        for (const update of toUpdates(data)) socket.emit('oh_event', update);
      return !sending.isFull();
    },
    ...connectionOf(socket),
  };
}

function connectionOf(socket: Socket): Omit<Receiver, 'receive'> {
  const close = () => void socket.disconnect(true);
  return {
    // Engine.IO sends pings itself.
    beat: () => {},
    end: close,
    destroy: close,
    onDrain: (listener) => void socket.conn.on('drain', listener),
    onClose: (listener) => void socket.on('disconnect', () => listener()),
  };
}
