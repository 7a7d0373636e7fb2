// What `parley doctor` needs to know of a service on another machine.
import Type from 'typebox';
import type { Principal } from '../keys/principal.ts';
import type { Nodes } from '../nodes/service.ts';
import { needs } from './access.ts';
import { type createReachability, notChecked } from './reachability.ts';
import type { Server } from './routeTable.ts';

const Connection = Type.Object(
  {
    address: Type.String({ description: 'The address of the client, as the service sees it.' }),
    host: Type.String({ description: 'The host name of the request, as the service sees it.' }),
    protocol: Type.String({ description: 'http or https.' }),
    forwarded: Type.Boolean({ description: 'Whether a proxy has passed the request on.' }),
    trusts_proxy: Type.Boolean({ description: 'Whether PARLEY_TRUST_PROXY trusts any proxy.' }),
  },
  { additionalProperties: false },
);

const Process = Type.Object(
  {
    machine: Type.String({ description: 'The id of the data folder.' }),
    serves: Type.Boolean({ description: 'Whether it answers API requests and is not stopping.' }),
    takes_work: Type.Boolean({ description: 'Whether it runs conversations and is not stopping.' }),
    slots: Type.Integer({ description: 'How many conversations it runs at most.' }),
    version: Type.String(),
    url: Type.String({ description: 'The URL under which other processes reach it. Empty on SQLite.' }),
    reachable: Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Whether the process that answers has reached it there. Null if it was not checked: for the process that answers itself, for an older version, and beyond what can be checked within three seconds.',
    }),
    fault: Type.Optional(Type.String({ description: 'Why it was not reached.' })),
    snapshot_store: Type.String({
      description:
        'Processes with the same snapshot store have the same value. `off` without PARLEY_SNAPSHOTS, `unusable` if the store cannot be used, and empty if it is not known.',
    }),
  },
  { additionalProperties: false },
);

export const Diagnostics = Type.Object(
  {
    connection: Connection,
    processes: Type.Array(Process, { description: 'The processes that were seen in the last 20 seconds.' }),
  },
  { $id: 'Diagnostics', additionalProperties: false },
);

interface DiagnosticsOptions {
  readonly trustsProxy: boolean;
  readonly listProcesses: Nodes['list'];
  readonly measure: ReturnType<typeof createReachability>;
}

export function diagnosticsRoutes(app: Server, options: DiagnosticsOptions): void {
  const { trustsProxy, listProcesses, measure } = options;

  async function describeProcesses(principal: Principal, requestId: string) {
    const processes = await listProcesses();
    const reached = await measure(processes, principal, requestId);
    return processes.map(({ nodeId, serves, takesWork, slots, version, url, snapshotStore }, i) => ({
      machine: nodeId,
      serves,
      takes_work: takesWork,
      slots,
      version,
      url,
      snapshot_store: snapshotStore,
      ...(reached[i] ?? notChecked),
    }));
  }

  app.get(
    '/api/diagnostics',
    {
      config: { access: needs('admin') },
      schema: {
        tags: ['Service'],
        operationId: 'getDiagnostics',
        summary: 'Read diagnostics',
        description:
          'Returns how this request reached the service, its live processes, and whether the one that answers can reach the others. `parley doctor` uses it.',
        response: { 200: Diagnostics },
      },
    },
    async ({ ip, host, protocol, headers, principal, id }) => ({
      connection: {
        address: ip,
        host,
        protocol,
        forwarded: headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined,
        trusts_proxy: trustsProxy,
      },
      processes: await describeProcesses(principal, id),
    }),
  );
}
