// Settings and secrets of each user follow one order of writes, and every stored write moves the version by one.
import type { Fault, FinalUser, History, Operation, OperationOf } from '../history.ts';
import { findAnomalies, type RegisterRead, type RegisterWrite } from './registers.ts';
import type { Findings } from './violation.ts';

/** With several processes, a read may be as old as the time in which caches hear of a write elsewhere. */
const staleMs = { sqlite: 0, postgres: 2_000 };

const isKind =
  <Kind extends Operation['kind']>(kind: Kind) =>
  (operation: Operation): operation is OperationOf<Kind> =>
    operation.kind === kind;

/** A process that was asleep may answer from memory first, before it hears of anything. */
function readSince(operation: Operation, { database, faults }: History): number {
  const asleep = (fault: Fault) =>
    fault.target === operation.process &&
    fault.name.startsWith('pause') &&
    fault.fromMs < operation.endedMs &&
    fault.toMs > operation.invokedMs - staleMs[database];
  const begins = faults.filter(asleep).map(({ fromMs }) => fromMs);
  return Math.min(operation.invokedMs, ...begins) - staleMs[database];
}

function settingReads(field: string, mine: readonly Operation[], history: History): RegisterRead[] {
  return mine.flatMap((operation): RegisterRead[] => {
    if (operation.outcome !== 'ok') return [];
    const { endedMs: toMs } = operation;
    if (operation.kind === 'read-settings' && field in operation.values)
      return [
        { value: operation.values[field] ?? null, fromMs: readSince(operation, history), toMs, operation },
      ];
    // The answer to a write is read after it: it can hold nothing older.
    if (operation.kind === 'write-setting' && operation.field === field && operation.seen !== null)
      return [{ value: operation.seen, fromMs: operation.invokedMs, toMs, operation }];
    return [];
  });
}

const anomalyKinds = { phantom: 'settings-phantom', refused: 'refused-but-done', order: 'settings-order' };

function checkFields(
  findings: Findings,
  user: FinalUser,
  mine: readonly Operation[],
  history: History,
): void {
  const writes = mine.filter(isKind('write-setting'));
  for (const [field, own] of Map.groupBy(writes, (write) => write.field)) {
    const registered = own.map(
      (operation): RegisterWrite => ({
        value: operation.value,
        fromMs: operation.invokedMs,
        toMs: operation.endedMs,
        outcome: operation.outcome,
        operation,
      }),
    );
    const last = Number.MAX_VALUE;
    const final = { value: user.settings[field] ?? null, fromMs: last, toMs: last, operation: undefined };
    const reads = [...settingReads(field, mine, history), final];
    const anomalies = findAnomalies(`${field} of ${user.name}`, registered, reads);
    for (const _ of [...registered, ...reads]) findings.expect(true, '', () => '');
    for (const { kind, sentence, operations } of anomalies)
      findings.expect(false, anomalyKinds[kind], () => sentence, operations);
  }
}

function checkVersions(findings: Findings, user: FinalUser, mine: readonly Operation[]): void {
  const changes = mine.filter(({ kind }) =>
    ['write-setting', 'write-secret', 'delete-secret'].includes(kind),
  );
  const count = (outcome: string) => changes.filter((change) => change.outcome === outcome).length;
  const [done, undecided] = [count('ok'), count('unknown')];
  findings.expect(
    done <= user.version && user.version <= done + undecided,
    'settings-version',
    () =>
      `the settings of ${user.name} have version ${user.version} after ${done} acknowledged and ${undecided} undecided writes`,
  );
  const guarded = mine
    .filter(isKind('write-setting'))
    .filter(({ base, outcome }) => base !== null && outcome === 'ok');
  for (const [base, winners] of Map.groupBy(guarded, (write) => write.base))
    findings.expect(
      winners.length === 1,
      'settings-lost-race',
      () => `${winners.length} writes of ${user.name} were acknowledged for the same version ${base}`,
      winners,
    );
}

interface SecretView {
  readonly value: string | undefined;
  readonly fromMs: number;
  readonly operation: Operation | undefined;
}

function secretViews(name: string, user: FinalUser, mine: readonly Operation[]): SecretView[] {
  const reads = mine.filter(isKind('read-secrets')).filter(({ outcome }) => outcome === 'ok');
  return [
    ...reads.map((operation) => ({
      value: operation.secrets[name],
      fromMs: operation.invokedMs,
      operation,
    })),
    { value: user.secrets[name], fromMs: Number.MAX_VALUE, operation: undefined },
  ];
}

type SecretWrite = OperationOf<'write-secret'>;
type SecretDelete = OperationOf<'delete-secret'>;

/** Whether a secret that is not there was taken away by somebody, after it was surely there. */
function isGoneRightly(view: SecretView, writes: readonly SecretWrite[], deletes: readonly SecretDelete[]) {
  const surely = writes.filter(({ outcome, endedMs }) => outcome === 'ok' && endedMs < view.fromMs);
  return surely.every((write) =>
    deletes.some(
      ({ outcome, endedMs }) => outcome === 'unknown' || (outcome === 'ok' && endedMs > write.invokedMs),
    ),
  );
}

/** Whether the written secret was surely deleted before it was seen. */
function wasDeleted(view: SecretView, write: SecretWrite, deletes: readonly SecretDelete[]): boolean {
  return (
    write.outcome === 'ok' &&
    deletes.some(
      ({ outcome, invokedMs, endedMs }) =>
        outcome === 'ok' && invokedMs > write.endedMs && endedMs < view.fromMs,
    )
  );
}

function checkSecret(findings: Findings, name: string, user: FinalUser, mine: readonly Operation[]): void {
  const writes = mine.filter(isKind('write-secret')).filter((one) => one.name === name);
  const deletes = mine.filter(isKind('delete-secret')).filter((one) => one.name === name);
  for (const view of secretViews(name, user, mine)) {
    const shown = view.operation === undefined ? [] : [view.operation];
    const what = `the secret ${name} of ${user.name}`;
    if (view.value === undefined) {
      const rightly = isGoneRightly(view, writes, deletes);
      findings.expect(rightly, 'secrets-order', () => `${what} is lost`, [...writes.slice(-2), ...shown]);
      continue;
    }
    const write = writes.find(({ description }) => description === view.value);
    const operations = [...(write === undefined ? [] : [write]), ...shown];
    findings.expect(write !== undefined, 'secrets-phantom', () => `${what} was never written so`, operations);
    if (write === undefined) continue;
    findings.expect(write.outcome !== 'fail', 'refused-but-done', () => `${what} was refused`, operations);
    const kept = !wasDeleted(view, write, deletes);
    findings.expect(kept, 'secrets-order', () => `${what} came back after it was deleted`, operations);
  }
}

function checkSecrets(findings: Findings, user: FinalUser, mine: readonly Operation[]): void {
  const names = new Set(mine.filter(isKind('write-secret')).map(({ name }) => name));
  for (const name of names) {
    checkSecret(findings, name, user, mine);
    const writes = mine.filter(isKind('write-secret')).filter((one) => one.name === name);
    const registered = writes.map((operation) => ({
      value: operation.description,
      fromMs: operation.invokedMs,
      toMs: operation.endedMs,
      outcome: operation.outcome,
      operation,
    }));
    // Where it is absent nobody can tell which deletion was seen: those reads are looked at above.
    const reads = secretViews(name, user, mine).flatMap(({ value, fromMs, operation }): RegisterRead[] =>
      value === undefined ? [] : [{ value, fromMs, toMs: operation?.endedMs ?? fromMs, operation }],
    );
    for (const { kind, sentence, operations } of findAnomalies(
      `secret ${name} of ${user.name}`,
      registered,
      reads,
    ))
      if (kind === 'order') findings.expect(false, 'secrets-order', () => sentence, operations);
  }
}

export function checkSettings(findings: Findings, history: History): void {
  for (const user of history.users) {
    const mine = history.operations.filter((operation) => operation.user === user.name);
    checkFields(findings, user, mine, history);
    checkVersions(findings, user, mine);
    checkSecrets(findings, user, mine);
  }
}
