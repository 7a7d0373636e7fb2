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

/** Behind a proxy, with limits that the load does not reach. */
const proxied = { PARLEY_TRUST_PROXY: '1', PARLEY_RATE_LIMIT: '1000000', PARLEY_CREATE_LIMIT: '1000000' };
const proxiedConnections = 64;

function behindProxy(measured: Case): Case {
  const { name, ask } = measured;
  const forwarded = { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': 'https' };
  return {
    ...measured,
    name: `${name}, limits on, behind a proxy`,
    ask: { ...ask, headers: { ...ask.headers, ...forwarded } },
    env: proxied,
  };
}

export function measureSettings(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const shapes = { 'GET settings, full': getFull, 'GET settings, reduced': getReduced };
  const cases = Object.entries(shapes).flatMap(([name, ask]) =>
    plan.connections.map(
      (connections): Case => ({ name, ask, kind: 'sqlite', connections, target: readTarget }),
    ),
  );
  const deployed = behindProxy({
    name: 'GET settings, full',
    ask: getFull,
    kind: 'sqlite',
    connections: proxiedConnections,
    target: readTarget,
  });
  return compareAll(lifetime, plan, 'Reading settings', [...cases, deployed]);
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
  const deployed = behindProxy({
    name: 'POST conversation, SQLite',
    ask: postConversation,
    kind: 'sqlite',
    connections: proxiedConnections,
    target: createTarget,
  });
  const cases = [...onSqlite, deployed, onPostgres];
  return compareAll(lifetime, plan, 'Creating conversations, durably', cases);
}
