// Health checks for load balancers, and a description of the service for people.
import Type from 'typebox';
import { AppError, type ErrorCode } from '../errors.ts';
import { open } from './access.ts';
import { jsonType } from './errors.ts';
import type { Server } from './routeTable.ts';

/** The sandbox of agents, and which limits are enforced. */
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
    uptime: Type.Number({ description: 'The uptime in seconds.' }),
    database: Type.String({ description: 'sqlite or postgres.' }),
    role: Type.String({ description: 'all, api or worker.' }),
    sandbox: Type.Union([Type.String(), Type.Null()], {
      description:
        'The sandbox for agents: bubblewrap, docker, process (no sandbox), or null if agents cannot run.',
    }),
    seccomp: Type.Boolean({
      description:
        "Whether Parley's seccomp filter restricts agents. Containers use the filter of their engine.",
    }),
    limits: Type.Object(
      { memory: Type.Boolean(), processes: Type.Boolean() },
      { additionalProperties: false, description: 'Which resources of agents are limited.' },
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
      throw new AppError('shutting_down', 'The server is shutting down: send requests elsewhere.', {
        retryAfterS: stopRetryAfterS,
      });
    await checkWritable();
  }

  const liveness = { summary: 'Check liveness', check: alive };
  route('alive', {
    ...liveness,
    description: 'Returns 200 while the process responds. The database is not checked.',
  });
  app.get(
    '/health',
    {
      config: { access: open, document: { responseExamples: { ok: 'OK' } } },
      schema: {
        tags: ['Service'],
        operationId: 'health',
        summary: liveness.summary,
        description: 'The same as `/alive` with the response that existing clients expect: the string "OK".',
        response: { 200: Type.String() },
      },
    },
    // Fastify sends a string as text.
    async (_request, reply) => reply.type(jsonType).send(JSON.stringify('OK')),
  );
  route('ready', {
    summary: 'Check readiness',
    description: 'Returns 200 unless the process is shutting down or its database accepts no writes.',
    check: ready,
  });

  app.get(
    '/server_info',
    {
      config: { access: open },
      schema: {
        tags: ['Service'],
        operationId: 'getServerInfo',
        summary: 'Read server information',
        description: 'Returns name, version, uptime, database, role and sandbox of this process.',
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
