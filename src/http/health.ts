// Health checks for load balancers, and a description of the service for people.
import Type from 'typebox';
import { AppError, type ErrorCode } from '../errors.ts';
import { open } from './access.ts';
import type { Server } from './routeTable.ts';

/** What confines agents here, and which limits hold for them. */
interface SandboxState {
  readonly kind: string | undefined;
  readonly seccomp: boolean;
  readonly limits: { readonly memory: boolean; readonly processes: boolean };
}

interface HealthOptions {
  readonly version: string;
  readonly databaseKind: string;
  readonly role: string;
  readonly describeSandbox: () => Promise<SandboxState>;
  readonly isStopping: () => boolean;
  /** Rejects if the database cannot store anything. */
  readonly checkWritable: () => Promise<void>;
}

const stopRetryAfterS = 5;

const Status = Type.Object({ status: Type.String() }, { $id: 'Status', additionalProperties: false });

export const ServerInfo = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    uptime: Type.Number({ description: 'Seconds since the start.' }),
    database: Type.String({ description: 'sqlite or postgres.' }),
    role: Type.String({ description: 'all, api or worker.' }),
    sandbox: Type.Union([Type.String(), Type.Null()], {
      description:
        'What confines agents: bubblewrap, docker, process (nothing does), or null where none can run.',
    }),
    seccomp: Type.Boolean({
      description:
        "Whether Parley's seccomp filter limits the system calls of agents. Containers have their engine's instead.",
    }),
    limits: Type.Object(
      { memory: Type.Boolean(), processes: Type.Boolean() },
      { additionalProperties: false, description: 'Whether what an agent may take of each is limited.' },
    ),
  },
  { $id: 'ServerInfo', additionalProperties: false },
);

export function healthRoutes(
  app: Server,
  { version, databaseKind, role, describeSandbox, isStopping, checkWritable }: HealthOptions,
): void {
  const startedAt = performance.now();

  interface Probe {
    readonly summary: string;
    readonly description: string;
    readonly check: () => Promise<void>;
  }

  function route(operationId: string, { summary, description, check }: Probe): void {
    const errors: ErrorCode[] = check === alive ? [] : ['database_unavailable', 'shutting_down'];
    app.get(
      `/${operationId}`,
      {
        config: { access: open, document: { responseExamples: { ok: { status: 'ok' } }, errors } },
        schema: { tags: ['Service'], operationId, summary, description, response: { 200: Status } },
      },
      async () => {
        await check();
        return { status: 'ok' };
      },
    );
  }

  async function alive(): Promise<void> {}

  async function ready(): Promise<void> {
    if (isStopping())
      throw new AppError('shutting_down', 'The service is stopping: send requests elsewhere.', {
        retryAfterS: stopRetryAfterS,
      });
    await checkWritable();
  }

  const liveness = { summary: 'Whether the process answers', check: alive };
  route('alive', { ...liveness, description: 'For a liveness probe. The database is not asked.' });
  route('health', {
    ...liveness,
    description: 'The same as `/alive`, under the name that existing clients use.',
  });
  route('ready', {
    summary: 'Whether this process can take requests',
    description: 'For a readiness probe: the process is not stopping, and its database accepts writes.',
    check: ready,
  });

  app.get(
    '/server_info',
    {
      config: { access: open },
      schema: {
        tags: ['Service'],
        operationId: 'getServerInfo',
        summary: 'What this service is',
        description: 'Name, version, uptime, database, role and sandbox of this process.',
        response: { 200: ServerInfo },
      },
    },
    async () => {
      const { kind = null, seccomp, limits } = await describeSandbox();
      return {
        name: 'parley',
        version,
        uptime: Math.round((performance.now() - startedAt) / 1_000),
        database: databaseKind,
        role,
        sandbox: kind,
        seccomp,
        limits: { memory: limits.memory, processes: limits.processes },
      };
    },
  );
}
