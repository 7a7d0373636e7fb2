// Which process builds the search index: one at a time, until its lease ends.
import { findFact, lockFact, storeFact } from '../../db/facts.ts';
import { rows, type Steps, write } from '../../db/transaction.ts';

const claimFact = 'search-claim';

interface ClaimInput {
  readonly owner: string;
  readonly leaseMs: number;
}

interface Claim {
  readonly owner: string;
  readonly until: number;
}

/** True if this process may index until its lease ends, because it does already or nobody else does. */
export const claimIndex = write(
  'search.claim',
  function* (q, { owner, leaseMs }: ClaimInput): Steps<boolean> {
    const { value, now } = yield* lockFact(q, claimFact, JSON.stringify({ owner, until: 0 } satisfies Claim));
    const held = JSON.parse(value) as Partial<Claim>;
    const until = held.until ?? 0;
    // A clock that was set back must not keep everybody waiting.
    if (held.owner !== owner && now < until && until <= now + leaseMs) return false;
    yield* storeFact(q, claimFact, JSON.stringify({ owner, until: now + leaseMs } satisfies Claim));
    return true;
  },
);

interface Release {
  readonly owner: string;
}

/** Lets another process go on at once. */
export const releaseIndex = write('search.release', function* (q, { owner }: Release): Steps<void> {
  const found = yield* findFact(q, claimFact);
  if (found !== undefined && (JSON.parse(found) as Partial<Claim>).owner === owner)
    yield* rows(q.build.deleteFrom('facts').where('name', '=', claimFact).where('value', '=', found));
});

export const claimTransactions = [claimIndex, releaseIndex];
