// Pages for the subscribers of a log that are behind. Many of them often read the same pages one after the other, for
// example when a process has restarted: a page is then read and serialized once.
import { kib } from '../validation/schema.ts';
import { Batch, type Log } from './receiver.ts';

const pagesMax = 4;
/** A larger page is not kept. */
const pageCharsMax = 256 * kib;

export interface ReadPage {
  readonly batch: Batch;
  readonly chars: number;
  readonly last: string | undefined;
  readonly more: boolean;
  /** The position of the shared read when this one began. */
  readonly shared: string | undefined;
}

interface Kept {
  readonly shared: string | undefined;
  readonly page: Promise<ReadPage | undefined>;
  /** Nothing will be added to the page, because more follows. */
  isFull: boolean;
}

export type SharedPages = ReturnType<typeof createSharedPages>;

export function createSharedPages(log: Log) {
  const pages = new Map<string, Kept>();
  let users = 0;

  async function read(cursor: string, shared: string | undefined): Promise<ReadPage | undefined> {
    const page = await log.read(cursor);
    if (page === undefined) return undefined;
    const batch = new Batch(page.entries);
    const chars = page.entries.reduce((sum, { data }) => sum + data.length, 0);
    return { batch, chars, last: page.entries.at(-1)?.cursor, more: page.more, shared };
  }

  function keep(cursor: string, kept: Kept): void {
    pages.set(cursor, kept);
    const [oldest] = pages.keys();
    if (pages.size > pagesMax && oldest !== undefined) pages.delete(oldest);
    const drop = () => {
      if (pages.get(cursor) === kept) pages.delete(cursor);
    };
    kept.page.then((page) => {
      if (page === undefined || page.chars > pageCharsMax || users === 0) drop();
      else kept.isFull = page.more;
    }, drop);
  }

  return {
    /**
     * Returns the entries after the cursor; undefined if the log is gone. `shared` is the position of the shared read:
     * a page that was read before it moved may lack entries.
     */
    read: (cursor: string, shared: string | undefined): Promise<ReadPage | undefined> => {
      const known = pages.get(cursor);
      if (known !== undefined && (known.isFull || known.shared === shared)) return known.page;
      pages.delete(cursor);
      const page = read(cursor, shared);
      keep(cursor, { shared, page, isFull: false });
      return page;
    },
    /** A subscriber reads. Pages are kept until the last one has called `end`. */
    begin: (): void => {
      users += 1;
    },
    end: (): void => {
      users -= 1;
      if (users === 0) pages.clear();
    },
  };
}
