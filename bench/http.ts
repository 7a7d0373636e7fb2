// The requests that are compared with a bare server, their numbers of connections, and the required shares.
import { type Case, compareAll } from './comparison.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import type { PartReport } from './report.ts';
import { getFull, getReduced, postConversation } from './requests.ts';

const readTarget = 0.9;
const createTarget = 0.4;
/** With fewer connections, a creation only waits for the disk, which the bare server does not use. */
const createTargetConnectionsMin = 64;
const postgresConnections = 64;

export function measureSettings(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const shapes = { 'GET settings, full': getFull, 'GET settings, reduced': getReduced };
  const cases = Object.entries(shapes).flatMap(([name, ask]) =>
    plan.connections.map(
      (connections): Case => ({ name, ask, kind: 'sqlite', connections, target: readTarget }),
    ),
  );
  return compareAll(lifetime, plan, 'Reading settings', cases);
}

export function measureConversations(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const onSqlite = plan.connections.map(
    (connections): Case => ({
      name: 'POST conversation, SQLite',
      ask: postConversation,
      kind: 'sqlite',
      connections,
      target: connections >= createTargetConnectionsMin ? createTarget : undefined,
    }),
  );
  const onPostgres: Case = {
    name: 'POST conversation, PostgreSQL',
    ask: postConversation,
    kind: 'postgres',
    connections: postgresConnections,
    target: undefined,
  };
  return compareAll(lifetime, plan, 'Creating conversations, durably', [...onSqlite, onPostgres]);
}
