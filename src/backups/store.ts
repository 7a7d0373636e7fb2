// When the last backup was made, and which process makes the next one. Both are facts, which a restore forgets.
import { readNow } from '../db/clock.ts';
import { findFact, lockFact, storeFact } from '../db/facts.ts';
import { type Queries, read, repeatableWrite, rows, type Steps, write } from '../db/transaction.ts';

const lastFact = 'last-backup';
const claimFact = 'backup-claim';

export interface LastBackup {
  /** By the clock of the database, in milliseconds since 1970. It holds everything that was stored by then. */
  readonly startedAt: number;
  readonly bytes: number;
}

interface Claim {
  readonly owner: string | null;
  readonly until: number;
  readonly startedAt: number;
  /** When the last attempt failed; 0 if it did not. */
  readonly failedAt: number;
}

const noClaim: Claim = { owner: null, until: 0, startedAt: 0, failedAt: 0 };

function parse<Value>(text: string | undefined): Value | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  } catch {
    return undefined;
  }
}

/** Locks the claim until the end of the transaction. */
function* lockClaim(q: Queries): Steps<Claim & { readonly now: number }> {
  const { value, now } = yield* lockFact(q, claimFact, JSON.stringify(noClaim));
  return { ...(parse<Claim>(value) ?? noClaim), now };
}

const storeClaim = (q: Queries, claim: Claim) => storeFact(q, claimFact, JSON.stringify(claim));

interface ClaimInput {
  readonly owner: string;
  /** The time from the start of one backup to the start of the next. */
  readonly everyMs: number;
  /** How long to wait after one that failed. */
  readonly retryMs: number;
  readonly leaseMs: number;
}

/** True if a backup is due and nobody makes it: the caller does then, and renews the claim meanwhile. */
export const claimBackup = write('backups.claim', function* (q, input: ClaimInput): Steps<boolean> {
  const { owner, until, failedAt, now } = yield* lockClaim(q);
  const last = parse<LastBackup>(yield* findFact(q, lastFact));
  const isDue = last === undefined || Math.abs(now - last.startedAt) >= input.everyMs;
  // A clock that was set back must not keep everybody waiting.
  const isHeld = owner !== null && now < until && until <= now + input.leaseMs;
  if (!isDue || isHeld || (failedAt !== 0 && Math.abs(now - failedAt) < input.retryMs)) return false;
  yield* storeClaim(q, { owner: input.owner, until: now + input.leaseMs, startedAt: now, failedAt: 0 });
  return true;
});

interface Renewal {
  readonly owner: string;
  readonly leaseMs: number;
}

/** False if another process has taken over. */
export const renewBackup = repeatableWrite(
  'backups.renew',
  function* (q, { owner, leaseMs }: Renewal): Steps<boolean> {
    const { now, ...claim } = yield* lockClaim(q);
    if (claim.owner !== owner) return false;
    yield* storeClaim(q, { ...claim, until: now + leaseMs });
    return true;
  },
);

interface Finish {
  readonly owner: string;
  /** After a failure, the next attempt waits. Another process may go on at once after an interruption. */
  readonly outcome: 'done' | 'failed' | 'interrupted';
  /** The size of the backup. */
  readonly bytes: number;
}

/** Releases the claim. False if another process has taken over. */
export const finishBackup = repeatableWrite(
  'backups.finish',
  function* (q, { owner, outcome, bytes }: Finish): Steps<boolean> {
    const { now, ...claim } = yield* lockClaim(q);
    if (claim.owner !== owner) return false;
    if (outcome === 'done') {
      const last: LastBackup = { startedAt: claim.startedAt, bytes };
      yield* storeFact(q, lastFact, JSON.stringify(last));
    }
    yield* storeClaim(q, { ...noClaim, failedAt: outcome === 'failed' ? now : 0 });
    return true;
  },
);

/** How long ago the last good backup was begun; undefined if there was none. */
export const readBackupAge = read('backups.readAge', function* (q): Steps<number | undefined> {
  const last = parse<LastBackup>(yield* findFact(q, lastFact));
  return last && Math.max(0, (yield* readNow(q)) - last.startedAt);
});

/** A restored service has no backups yet. */
export function* forgetBackups(q: Queries): Steps<void> {
  yield* rows(q.build.deleteFrom('facts').where('name', 'in', [lastFact, claimFact]));
}

/** Records a backup that an operator has made. Its text is the same on both databases. */
export function recordStatement(last: LastBackup): {
  readonly text: string;
  readonly values: [string, string];
} {
  return {
    text: 'insert into facts (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    values: [lastFact, JSON.stringify(last)],
  };
}

export const backupTransactions = [claimBackup, renewBackup, finishBackup, readBackupAge];
