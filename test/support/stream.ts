// A reader of server-sent events that can pause, be cut off anywhere, and reconnect.
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { until } from './until.ts';

export interface Frame {
  /** Undefined if the frame has none. */
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface StreamOptions {
  readonly key: string;
  readonly lastEventId?: string;
  /** Cuts the connection after this many characters. */
  readonly cutAfter?: number;
  /** Aborts the request, also before the response begins. */
  readonly signal?: AbortSignal;
}

export interface Stream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received. */
  text(): string;
  /** The complete frames with data. */
  frames(): Frame[];
  /** The last complete id, including frames without data. */
  lastId(): string | undefined;
  closed(): boolean;
  /** Whether the server has ended the stream, and the connection is not broken. */
  complete(): boolean;
  pause(): void;
  resume(): void;
  cut(): void;
}

function readFrame(text: string): Frame {
  const frame: { id: string | undefined; event: string; data: string } = {
    id: undefined,
    event: 'message',
    data: '',
  };
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = /^(id|event|data): (.*)$/s.exec(line) ?? [];
    if (name !== '') frame[name as keyof Frame] = value;
  }
  return frame;
}

/** Parses text as it arrives. Frames end with an empty line; the rest is incomplete. */
function createFrameReader() {
  const frames: Frame[] = [];
  let lastId: string | undefined;
  let rest = '';
  return {
    frames,
    lastId: () => lastId,
    take: (text: string) => {
      const parts = (rest + text).split('\n\n');
      rest = parts.pop() ?? '';
      for (const frame of parts.map(readFrame)) {
        lastId = frame.id ?? lastId;
        if (frame.data !== '') frames.push(frame);
      }
    },
  };
}

/** Requests a stream and waits for the head of the response. */
export async function openStream(url: string, path: string, options: StreamOptions): Promise<Stream> {
  const { key, lastEventId, cutAfter = Number.POSITIVE_INFINITY, signal } = options;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      'x-session-api-key': key,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
    get(url + path, { headers, agent: false, ...(signal === undefined ? {} : { signal }) }, resolve).on(
      'error',
      reject,
    );
  });
  const pieces: string[] = [];
  const reader = createFrameReader();
  let length = 0;
  let closed = false;
  response.setEncoding('utf8').on('data', (piece: string) => {
    const seen = piece.slice(0, Math.max(0, cutAfter - length));
    length += piece.length;
    pieces.push(seen);
    reader.take(seen);
    if (length >= cutAfter) response.destroy();
  });
  response.on('error', () => {});
  response.on('close', () => {
    closed = true;
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => pieces.join(''),
    frames: () => [...reader.frames],
    lastId: reader.lastId,
    closed: () => closed,
    complete: () => response.complete,
    pause: () => response.pause(),
    resume: () => response.resume(),
    cut: () => response.destroy(),
  };
}

/** Waits until the stream has sent this many frames with data, and returns all of them. */
export async function untilFrames(stream: Stream, count: number, withinMs?: number): Promise<Frame[]> {
  return until(
    `${count} frames`,
    () => {
      const frames = stream.frames();
      return frames.length >= count && frames;
    },
    withinMs,
  );
}

export async function untilClosed(stream: Stream, withinMs?: number): Promise<void> {
  await until('the stream ends', () => stream.closed(), withinMs);
}
