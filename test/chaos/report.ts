// Figures of a round for people, and of each violation the shortest part of the history that shows it.
import type { Verdict } from './checker.ts';
import type { Violation } from './checks/violation.ts';
import type { Fault, History, Operation } from './history.ts';

const shownMax = 10;
const operationsShownMax = 8;
const textMax = 1_200;

export function countBy<Item>(items: readonly Item[], name: (item: Item) => string): string {
  const groups = [...Map.groupBy(items, name)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([key, { length }]) => `${key} ${length}`).join(', ') || 'none';
}

function describeOperation(operation: Operation): string {
  const { n, user, process, invokedMs, endedMs, outcome, status, code, owners, ...detail } = operation;
  return `${invokedMs}–${endedMs} ms  #${n} ${user} → ${process}: ${JSON.stringify(detail)} ${outcome} ${status ?? 'no answer'}${code === null ? '' : ` ${code}`}`;
}

const describeFault = ({ name, target, fromMs, toMs }: Fault) =>
  `${fromMs}–${toMs} ms  fault ${name} of ${target}`;

/** The operations of the violation in order, with the faults that happened in between. */
function describe({ kind, sentence, operations }: Violation, { faults }: History): string[] {
  const shown = [...new Set(operations)].slice(0, operationsShownMax);
  const fromMs = Math.min(...shown.map(({ invokedMs }) => invokedMs));
  const toMs = Math.max(...shown.map(({ endedMs }) => endedMs));
  const lines = [
    ...shown.map((one) => ({ atMs: one.invokedMs, text: describeOperation(one) })),
    ...faults
      .filter((fault) => fault.fromMs < toMs && fault.toMs > fromMs)
      .map((fault) => ({ atMs: fault.fromMs, text: describeFault(fault) })),
  ].toSorted((a, b) => a.atMs - b.atMs);
  return [`  ${kind}: ${sentence.slice(0, textMax)}`, ...lines.map(({ text }) => `    ${text}`)];
}

export function describeRound(history: History, { checks, violations, messages }: Verdict): string[] {
  const { database, operations, faults, exits, streams, arrivals, conversations } = history;
  return [
    `${database}: ${faults.length} faults, ${operations.length} operations, ${checks} checks, ${violations.length} violations`,
    `  faults: ${countBy(faults, ({ name }) => name)}`,
    `  operations: ${countBy(operations, ({ kind, outcome }) => `${kind} ${outcome}`)}`,
    `  process ends: ${countBy(exits, ({ cause }) => cause ?? 'unexpected')}`,
    `  ${conversations.length} conversations, ${conversations.reduce((sum, { events }) => sum + events.length, 0)} events, ${streams.length} streams with ${streams.reduce((sum, { connections }) => sum + connections, 0)} connections, ${arrivals.length} webhook requests`,
    `  ${messages} messages had to reach an agent`,
    ...(violations.length === 0 ? [] : [`  violations: ${countBy(violations, ({ kind }) => kind)}`]),
    ...[...Map.groupBy(violations, ({ kind }) => kind).values()]
      .flatMap((group) => group.slice(0, Math.max(1, Math.floor(shownMax / 3))))
      .flatMap((violation) => describe(violation, history)),
  ];
}
