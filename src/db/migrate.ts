// Updates a database to the newest schema. Migrations are append-only: a released one never changes.
import { sql } from 'kysely';
import { foundation } from './migrations/0001-foundation.ts';
import { audit } from './migrations/0002-audit.ts';
import { lifecycle } from './migrations/0003-lifecycle.ts';
import { webhooks } from './migrations/0004-webhooks.ts';
import { runs } from './migrations/0005-runs.ts';
import { usage } from './migrations/0006-usage.ts';
import { eventPlaces } from './migrations/0007-event-places.ts';
import { conversationAgent } from './migrations/0008-conversation-agent.ts';
import { said } from './migrations/0009-said.ts';
import { runCrashes } from './migrations/0010-run-crashes.ts';
import { alwaysAllowed } from './migrations/0011-always-allowed.ts';
import { openTurns } from './migrations/0012-open-turns.ts';
import { stepEvents } from './migrations/0013-step-events.ts';
import { nodes } from './migrations/0014-nodes.ts';
import { bearerKeys } from './migrations/0015-bearer-keys.ts';
import { followed } from './migrations/0016-followed.ts';
import { imports } from './migrations/0017-imports.ts';
import { uploads } from './migrations/0018-uploads.ts';
import { feedback } from './migrations/0019-feedback.ts';
import { commands } from './migrations/0020-commands.ts';
import { conversationModel } from './migrations/0021-conversation-model.ts';
import { webhookFormats } from './migrations/0022-webhook-formats.ts';
import { messageKeys } from './migrations/0023-message-keys.ts';
import { workspacePatches } from './migrations/0024-workspace-patches.ts';
import { cancelled } from './migrations/0025-cancelled.ts';
import { conversationConfirmation } from './migrations/0026-conversation-confirmation.ts';
import { clientFolder } from './migrations/0027-client-folder.ts';
import { migrationKinds } from './migrations/0028-migration-kinds.ts';
import { servingNodes } from './migrations/0029-serving-nodes.ts';
import { trace } from './migrations/0030-trace.ts';
import { runsByUser } from './migrations/0031-runs-by-user.ts';
import { snapshots } from './migrations/0032-snapshots.ts';
import { userStates } from './migrations/0033-user-states.ts';
import { signIn } from './migrations/0034-sign-in.ts';
import { spending } from './migrations/0035-spending.ts';
import { reservations } from './migrations/0036-reservations.ts';
import { processVersions } from './migrations/0037-process-versions.ts';
import { search } from './migrations/0038-search.ts';
import { marks } from './migrations/0039-marks.ts';
import { processStores } from './migrations/0040-process-stores.ts';
import { volumes } from './migrations/0041-volumes.ts';
import { forks } from './migrations/0042-forks.ts';
import type { Migration } from './migrations/migration.ts';
import { type Queries, type Query, rows, type Steps } from './transaction.ts';

export const migrations: readonly Migration[] = [
  foundation,
  audit,
  lifecycle,
  webhooks,
  runs,
  usage,
  eventPlaces,
  conversationAgent,
  said,
  runCrashes,
  alwaysAllowed,
  openTurns,
  stepEvents,
  nodes,
  bearerKeys,
  followed,
  imports,
  uploads,
  feedback,
  commands,
  conversationModel,
  webhookFormats,
  messageKeys,
  workspacePatches,
  cancelled,
  conversationConfirmation,
  clientFolder,
  migrationKinds,
  servingNodes,
  trace,
  runsByUser,
  snapshots,
  userStates,
  signIn,
  spending,
  reservations,
  processVersions,
  search,
  marks,
  processStores,
  volumes,
  forks,
];

const advisoryLock = 7_265_108;

function raw<Row>(q: Queries, text: string): Query<Row> {
  return { compile: () => sql.raw<Row>(text).compile(q.build) };
}

/** The column for the kind is younger than the table. */
function* recordMigration(q: Queries, { name, kind }: Migration, hasKinds: boolean): Steps<void> {
  const row = { name, applied_at: q.now };
  yield* rows(q.build.insertInto('migrations').values(hasKinds ? { ...row, kind } : row));
}

/**
 * Applies missing migrations in one transaction that excludes other processes. Returns the names of contracts that this
 * version does not know; a newer Parley has applied them, and nothing was changed then. `onMigration` is called before each.
 */
export function* migrate(
  q: Queries,
  known = migrations,
  onMigration: (name: string) => void = () => {},
): Steps<string[]> {
  // On SQLite the engine's BEGIN IMMEDIATE is the lock.
  if (q.kind === 'postgres') {
    // Neither waiting for the lock nor a long migration may time out.
    yield* rows(raw(q, 'set local statement_timeout = 0'));
    yield* rows(raw(q, `select pg_advisory_xact_lock(${advisoryLock})`));
  }
  yield* rows(
    raw(
      q,
      'create table if not exists migrations (name text not null primary key, applied_at bigint not null)',
    ),
  );
  const applied = yield* rows(q.build.selectFrom('migrations').selectAll());
  const knownNames = new Set(known.map(({ name }) => name));
  const contracts = applied.filter(({ name, kind }) => !knownNames.has(name) && kind !== 'expand');
  if (contracts.length > 0) return contracts.map(({ name }) => name);
  const appliedNames = new Set(applied.map(({ name }) => name));
  for (const migration of known) {
    if (appliedNames.has(migration.name)) continue;
    onMigration(migration.name);
    for (const statement of migration.statements(q.kind)) yield* rows(raw(q, statement));
    appliedNames.add(migration.name);
    yield* recordMigration(q, migration, appliedNames.has(migrationKinds.name));
  }
  return [];
}

export function newerDatabaseMessage(unknown: readonly string[]): string {
  return `This database was written by a newer version of Parley (it holds ${unknown.join(', ')}). Update Parley, or point it at another database.`;
}
