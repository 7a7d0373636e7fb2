// Reads what a stream with partials shows: finished texts, and those that are being written.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenTexts, type OpenText, type PartialText } from '../../src/events/decoder/openTexts.ts';
import type { StorageLocation } from './databases.ts';
import { filesOf, type TestEvent } from './runs.ts';
import { openStream, type Stream } from './stream.ts';

export function openLiveStream(
  { url, key }: { readonly url: string; readonly key: string },
  id: string,
  query = '?partials=true',
): Promise<Stream> {
  return openStream(url, `/api/conversations/${id}/events/stream${query}`, { key });
}

/** Lets the fake agent go on that waits for `@name`. */
export async function letAgentGo(storage: StorageLocation, id: string, name: string): Promise<void> {
  writeFileSync(join((await filesOf(storage, id)).home, name), '');
}

/** Applies all frames so far, as a reader does. */
export function readLive(stream: Stream): {
  readonly events: readonly TestEvent[];
  readonly open: readonly OpenText[];
} {
  const open = createOpenTexts();
  const events: TestEvent[] = [];
  for (const { event, data } of stream.frames()) {
    const value = JSON.parse(data);
    if (event === 'partial') open.add(value as PartialText);
    else {
      events.push(value);
      open.cover(value);
    }
  }
  return { events, open: open.list() };
}

export function openTextOf(stream: Stream): string {
  return readLive(stream)
    .open.map(({ text }) => text)
    .join('');
}

/** What the agent has said and thought, according to the events. */
export function finishedTextOf(stream: Stream): string {
  return readLive(stream)
    .events.filter(({ source, action }) => source === 'agent' && (action === 'message' || action === 'think'))
    .map(({ args }) => args?.['content'] ?? args?.['thought'])
    .join('');
}

export const partialsOf = (stream: Stream) => stream.frames().filter(({ event }) => event === 'partial');
