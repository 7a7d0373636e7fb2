// Whether reads and writes of one value could have happened one at a time, in an order that fits their times. Every
// write has a value of its own, which makes this cheap: Gibbons and Korach, "Testing shared memories" (1997).
import type { Operation, Outcome } from '../history.ts';

export interface RegisterWrite {
  readonly value: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly outcome: Outcome;
  readonly operation: Operation;
}

export interface RegisterRead {
  /** Null: the value from before the first write. */
  readonly value: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined: the final state. */
  readonly operation: Operation | undefined;
}

export interface Anomaly {
  readonly kind: 'phantom' | 'refused' | 'order';
  readonly sentence: string;
  readonly operations: readonly Operation[];
}

interface Zone {
  readonly value: string;
  /** When the first operation on the value had ended, and when the last one began. */
  readonly firstEndMs: number;
  readonly lastBeginMs: number;
  readonly operations: readonly Operation[];
}

const initial = 'the initial value';

function zoneOf(write: RegisterWrite | undefined, reads: readonly RegisterRead[]): Zone {
  const ends = reads.map(({ toMs }) => toMs);
  const begins = reads.map(({ fromMs }) => fromMs);
  if (write === undefined) {
    ends.push(Number.NEGATIVE_INFINITY);
    begins.push(Number.NEGATIVE_INFINITY);
  } else {
    ends.push(write.outcome === 'ok' ? write.toMs : Number.POSITIVE_INFINITY);
    begins.push(write.fromMs);
  }
  const seen = reads.flatMap(({ operation }) => operation ?? []);
  return {
    value: write?.value ?? initial,
    firstEndMs: Math.min(...ends),
    lastBeginMs: Math.max(...begins),
    operations: [...(write === undefined ? [] : [write.operation]), ...seen.slice(0, 1), ...seen.slice(-1)],
  };
}

const isForward = ({ firstEndMs, lastBeginMs }: Zone) => firstEndMs < lastBeginMs;

/** Zones that cannot be put in any order. */
function findConflicts(zones: readonly Zone[]): [Zone, Zone][] {
  const conflicts: [Zone, Zone][] = [];
  const forward = zones.filter(isForward).toSorted((a, b) => a.firstEndMs - b.firstEndMs);
  let last: Zone | undefined;
  for (const zone of forward) {
    if (last !== undefined && zone.firstEndMs < last.lastBeginMs) conflicts.push([last, zone]);
    if (last === undefined || zone.lastBeginMs > last.lastBeginMs) last = zone;
  }
  for (const zone of zones.filter((one) => !isForward(one))) {
    const around = forward.find(
      ({ firstEndMs, lastBeginMs }) => firstEndMs < zone.lastBeginMs && zone.firstEndMs < lastBeginMs,
    );
    if (around !== undefined) conflicts.push([around, zone]);
  }
  return conflicts;
}

export function findAnomalies(
  name: string,
  writes: readonly RegisterWrite[],
  reads: readonly RegisterRead[],
): Anomaly[] {
  const anomalies: Anomaly[] = [];
  const written = new Map(writes.map((write) => [write.value, write]));
  const readBy = Map.groupBy(reads, ({ value }) => value ?? '');
  const zones: Zone[] = [zoneOf(undefined, readBy.get('') ?? [])];
  for (const [value, seen] of readBy) {
    if (value === '') continue;
    const write = written.get(value);
    const operations = seen.flatMap(({ operation }) => operation ?? []).slice(0, 1);
    if (write === undefined) {
      anomalies.push({ kind: 'phantom', sentence: `${name} was "${value}", which nobody wrote`, operations });
      continue;
    }
    const both = [write.operation, ...operations];
    if (write.outcome === 'fail')
      anomalies.push({
        kind: 'refused',
        sentence: `${name} was "${value}", although that write was refused`,
        operations: both,
      });
    if (seen.some(({ toMs }) => toMs < write.fromMs))
      anomalies.push({
        kind: 'order',
        sentence: `${name} was "${value}" before it was written`,
        operations: both,
      });
  }
  for (const write of writes) {
    const seen = readBy.get(write.value) ?? [];
    if (write.outcome === 'ok' || (write.outcome === 'unknown' && seen.length > 0))
      zones.push(zoneOf(write, seen));
  }
  for (const [first, second] of findConflicts(zones))
    anomalies.push({
      kind: 'order',
      sentence: `${name}: no order of writes explains both "${first.value}" and "${second.value}"`,
      operations: [...first.operations, ...second.operations],
    });
  return anomalies;
}
