// Limits the connections that stay open: those of each user, who can create any number of keys, and those of all users
// of a process.
import { AppError } from '../errors.ts';
import type { Principal } from './principal.ts';

/** Connections that do not read are closed after a while, so it is worth trying again. */
const retryAfterS = 5;
/** However many processes share the limit, a user may have so many connections at each: a web UI needs a few. */
export const userShareMin = 10;

interface ConnectionLimitOptions {
  /** What is counted, in the plural. */
  readonly what: string;
  /** Of this process. */
  readonly max: number;
  /** 0 means no limit. */
  readonly perUserMax: number;
  /** What the message for a user over the limit adds, such as the option that raises it. */
  readonly hint?: string;
  /** How many processes share the limit of a user; 1 if absent. */
  readonly sharing?: () => number;
}

export type ConnectionLimit = ReturnType<typeof createConnectionLimit>;

export function createConnectionLimit(options: ConnectionLimitOptions) {
  const { what, max, perUserMax, hint = '', sharing = () => 1 } = options;
  const countOf = new Map<number, number>();
  let all = 0;

  const userShare = () => Math.max(Math.min(perUserMax, userShareMin), Math.ceil(perUserMax / sharing()));

  function add(userId: number, change: 1 | -1): void {
    const count = (countOf.get(userId) ?? 0) + change;
    if (count === 0) countOf.delete(userId);
    else countOf.set(userId, count);
    all += change;
  }

  return {
    /** Counts a connection until the returned function is called. Throws if too many are open. */
    open: ({ userId }: Pick<Principal, 'userId'>): (() => void) => {
      if (all >= max)
        throw new AppError('overloaded', `Too many ${what} are open; try again later.`, { retryAfterS });
      if (perUserMax > 0 && (countOf.get(userId) ?? 0) >= userShare())
        throw new AppError(
          'rate_limited',
          `You have ${userShare()} ${what} open${sharing() > 1 ? ' at this process' : ''}, which is the limit${hint}. Close some, or try again later.`,
          { retryAfterS },
        );
      add(userId, 1);
      let isOpen = true;
      return () => {
        if (isOpen) add(userId, -1);
        isOpen = false;
      };
    },
  };
}
