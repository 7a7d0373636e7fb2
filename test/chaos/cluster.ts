// The processes of a chaos run: one on SQLite; two that answer requests and two that run conversations on PostgreSQL.
// They are started again whenever they have ended, and an end that nobody caused is written down as such.
import { randomBytes } from 'node:crypto';
import { delimiter } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { type PostgresProxy, startPostgresProxy } from '../support/postgresProxy.ts';
import { createSite, type Program, type Site } from '../support/process.ts';
import { fakeAgentPath, writeAgents } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { type ClockFile, createClockFile } from './clockFile.ts';
import type { Exit } from './history.ts';

export const ownerKey = 'the-key-of-the-owner';
const watchMs = 50;
const startAgainMs = 300;
export const startWithinMs = 60_000;
const stopWithinMs = 45_000;
const lastWordsMax = 2_000;
/** Exit code of a start that is refused, such as without a database. */
const refusedCode = 2;

export interface Member {
  readonly name: string;
  readonly answersRequests: boolean;
  readonly runsConversations: boolean;
  readonly proxy: PostgresProxy | undefined;
  /** Only one process has a clock that can be set. */
  readonly clock: ClockFile | undefined;
  /** Undefined while it does not listen. */
  url(): string | undefined;
  /** Says why it will end, and sends the signal. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface Cluster {
  readonly kind: DatabaseKind;
  readonly site: Site;
  readonly members: readonly Member[];
  readonly exits: readonly Exit[];
  /** Whether starts may be refused, because the database is away. */
  databaseIsAway(away: boolean): void;
  /** Waits until every process listens. */
  allUp(): Promise<void>;
  /** Ends all of them in order, for good. */
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly main: string;
  readonly sandbox: 'bubblewrap' | 'process';
  /** No conversation has to wait for a slot, and none is stopped to make room. */
  readonly roomy?: boolean;
  readonly now: () => number;
}

interface Role {
  readonly name: string;
  readonly role: 'all' | 'api' | 'worker';
}

const roles: Readonly<Record<DatabaseKind, readonly Role[]>> = {
  sqlite: [{ name: 'all', role: 'all' }],
  postgres: [
    { name: 'api-1', role: 'api' },
    { name: 'api-2', role: 'api' },
    { name: 'worker-1', role: 'worker' },
    { name: 'worker-2', role: 'worker' },
  ],
};
const steered: Readonly<Record<DatabaseKind, readonly string[]>> = {
  sqlite: ['all'],
  postgres: ['worker-1'],
};

export async function startCluster(
  kind: DatabaseKind,
  options: ClusterOptions,
  t: { after(fn: () => Promise<void>): void },
): Promise<Cluster> {
  const { main, now } = options;
  const site = await createSite(kind, t, { main });
  writeAgents(site.storage.dataDir, ['--activity']);
  const secretKey = randomBytes(32).toString('hex');
  const exits: Exit[] = [];
  let closing = false;
  let away = false;
  let awayUntilMs = Number.NEGATIVE_INFINITY;

  function begin(
    { name, role }: Role,
    proxy: PostgresProxy | undefined,
    clock: ClockFile | undefined,
  ): Program {
    return site.begin({
      env: {
        PATH: `${fakeAgentPath()}${delimiter}${process.env['PATH']}`,
        PARLEY_ROLE: role,
        PARLEY_SANDBOX: options.sandbox,
        PARLEY_SECRET_KEY: secretKey,
        PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
        PARLEY_LOG_LEVEL: 'warn',
        PARLEY_SLOTS: '16',
        ...(options.roomy ? { PARLEY_SLOTS: '60', PARLEY_RUNNING_MAX: '0' } : {}),
        SESSION_API_KEY: ownerKey,
        ...(proxy === undefined ? {} : { DATABASE_URL: proxy.url }),
        ...(steered[kind].includes(name) ? clock?.env : {}),
      },
    });
  }

  async function open(role: Role): Promise<Member & { over: Promise<void> }> {
    const { databaseUrl } = site.storage;
    const proxy = databaseUrl === undefined ? undefined : await startPostgresProxy(databaseUrl, t);
    const clock = steered[kind].includes(role.name) ? createClockFile(site.createDir()) : undefined;
    let program = begin(role, proxy, clock);
    let cause: string | undefined;
    let startedMs = now();

    function noteExit(code: number | null, signal: string | null, stderr: string): void {
      const refused =
        code === refusedCode && program.listeningUrl() === undefined && (away || awayUntilMs > startedMs);
      exits.push({
        process: role.name,
        atMs: now(),
        code,
        signal,
        cause: cause ?? (refused ? 'refused to start without its database' : undefined),
        lastWords: stderr.slice(-lastWordsMax),
      });
    }

    async function keepUp(): Promise<void> {
      for (;;) {
        while (!program.hasEnded()) await wait(watchMs);
        const { code, signal, stderr } = await program.ended();
        noteExit(code, signal, stderr);
        if (closing) return;
        await wait(startAgainMs);
        cause = undefined;
        startedMs = now();
        program = begin(role, proxy, clock);
      }
    }

    return {
      name: role.name,
      answersRequests: role.role !== 'worker',
      runsConversations: role.role !== 'api',
      proxy,
      clock,
      over: keepUp(),
      url: () => (program.hasEnded() || cause !== undefined ? undefined : program.listeningUrl()),
      end: async (signal) => {
        cause = signal;
        const current = program;
        current.send(signal);
        await until(`${role.name} ends after ${signal}`, () => current.hasEnded(), stopWithinMs);
      },
      pause: () => program.send('SIGSTOP'),
      resume: () => program.send('SIGCONT'),
    };
  }

  const members = await Promise.all(roles[kind].map(open));
  return {
    kind,
    site,
    members,
    exits,
    databaseIsAway: (value) => {
      away = value;
      awayUntilMs = now();
    },
    allUp: async () => {
      const isUp = () => members.every(({ url }) => url() !== undefined);
      await until('every process listens', isUp, startWithinMs).catch((error: Error) => {
        throw new Error(`${error.message}; last ended: ${JSON.stringify(exits.at(-1))}`);
      });
    },
    stop: async () => {
      closing = true;
      await Promise.all(members.map((member) => member.end('SIGTERM')));
      await Promise.all(members.map(({ over }) => over));
    },
  };
}
