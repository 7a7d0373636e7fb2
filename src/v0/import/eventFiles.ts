// Finds the events of a V0 conversation: one file per event, and pages of 25 that the server kept as a cache. A page is
// read only for events that have no readable file of their own.
import { eventIdsMax } from '../../events/eventKey.ts';
import { mib } from '../../validation/schema.ts';
import { readForeign } from './foreignFile.ts';
import { type Fault, isFault, type SourceFolder } from './sourceFolder.ts';

export const eventsMax = 1_000_000;
const eventBytesMax = 16 * mib;
const pageBytesMax = 64 * mib;
const pageEventsMax = 1_000;
const pagesMax = 100_000;

const eventName = /^(0|[1-9]\d{0,9})\.json$/;
const pageName = /^(0|[1-9]\d{0,9})-([1-9]\d{0,9})\.json$/;

interface Page {
  readonly name: string;
  readonly from: number;
  readonly below: number;
}

export interface FoundEvent {
  /** The id on the old server. */
  readonly id: number;
  /** The file that holds it, for reports. */
  readonly path: string;
  readonly event: unknown;
}

/** An event that exists but cannot be imported. */
export interface LostEvent extends Fault {
  readonly path: string;
}

/** Names that are not events are ignored, as the old server does. */
function eventIds(folder: SourceFolder | undefined): number[] | Fault {
  const ids: number[] = [];
  for (const { name, kind } of folder?.entries() ?? []) {
    if (kind === 'unreadable') return { fault: 'has events that cannot be read' };
    const [, digits] = eventName.exec(name) ?? [];
    if (digits === undefined || Number(digits) >= eventIdsMax) continue;
    if (ids.push(Number(digits)) > eventsMax) return { fault: `has more than ${eventsMax} events` };
  }
  return ids;
}

function pagesOf(folder: SourceFolder | undefined): Page[] {
  const pages: Page[] = [];
  for (const { name } of folder?.entries() ?? []) {
    const [, from, below] = (pageName.exec(name) ?? []).map(Number);
    if (from === undefined || below === undefined || pages.length === pagesMax) continue;
    if (below > from && below - from <= pageEventsMax) pages.push({ name, from, below });
  }
  return pages.sort((a, b) => a.from - b.from);
}

function missingIn(page: Page, files: ReadonlySet<number>): number[] {
  const ids = Array.from({ length: page.below - page.from }, (_, i) => page.from + i);
  return ids.filter((id) => !files.has(id));
}

/** Ids of files and of events that only pages have, ascending; undefined if there are too many. */
function allIds(files: ReadonlySet<number>, pages: readonly Page[]): Float64Array | undefined {
  const ids = new Set(files);
  for (const page of pages) {
    for (const id of missingIn(page, files)) ids.add(id);
    if (ids.size > eventsMax + pageEventsMax) return undefined;
  }
  return Float64Array.from(ids).sort();
}

/** Finds events in pages. It keeps the last page, because neighbours follow each other. */
function createPageReader(folder: SourceFolder | undefined, pages: readonly Page[]) {
  let last: { readonly page: Page; readonly events: readonly unknown[] | Fault } | undefined;

  function load(page: Page): readonly unknown[] | Fault {
    if (last?.page === page) return last.events;
    const read = folder && readForeign(folder, page.name, pageBytesMax);
    const value = read !== undefined && 'value' in read ? read.value : undefined;
    const events = Array.isArray(value) ? value : { fault: isFault(read) ? read.fault : 'is not a list' };
    last = { page, events };
    return events;
  }

  /** Pages do not overlap, and are sorted. */
  function pageOf(id: number): Page | undefined {
    let [low, high] = [0, pages.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((pages[middle]?.below ?? 0) > id) high = middle;
      else low = middle + 1;
    }
    const page = pages[low];
    return page !== undefined && page.from <= id ? page : undefined;
  }

  /** Undefined if no page has the event. */
  return (id: number): FoundEvent | LostEvent | undefined => {
    const page = pageOf(id);
    if (page === undefined) return undefined;
    const path = `${folder?.path}/${page.name}`;
    const events = load(page);
    if (isFault(events)) return { path, fault: events.fault };
    const event = events[id - page.from];
    return event === undefined || event === null ? undefined : { id, path, event };
  };
}

/**
 * The events of a conversation in the order of their ids. Returns a fault if there are too many. Reading is lazy: each
 * file is opened when its turn comes.
 */
export function findEvents(conversation: SourceFolder): Iterable<FoundEvent | LostEvent> | Fault {
  for (const name of ['events', 'event_cache'])
    if ((conversation.kind(name) ?? 'folder') !== 'folder')
      return { fault: `has ${name} that are not a folder, or a link to one` };
  const folder = conversation.folder('events');
  const ids = eventIds(folder);
  if (isFault(ids)) return ids;
  const files = new Set(ids);
  const cache = conversation.folder('event_cache');
  const pages = pagesOf(cache);
  const all = allIds(files, pages);
  if (all === undefined) return { fault: `has more than ${eventsMax} events` };
  const findCached = createPageReader(cache, pages);

  function* read(every: Float64Array): Generator<FoundEvent | LostEvent, void> {
    for (const id of every) {
      const name = `${id}.json`;
      const file =
        folder === undefined || !files.has(id) ? undefined : readForeign(folder, name, eventBytesMax);
      const path = `${folder?.path}/${name}`;
      if (file !== undefined && 'value' in file) yield { id, path, event: file.value };
      else {
        const cached = findCached(id);
        if (file !== undefined && (cached === undefined || isFault(cached)))
          yield { path, fault: file.fault };
        else if (cached !== undefined) yield cached;
      }
    }
  }
  return read(all);
}
