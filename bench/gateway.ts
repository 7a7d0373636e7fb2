// Measures what the gateway adds to a model request: it is sent directly to a model in another process, and through the
// gateway and bridge of a run.
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.ts';
import type { GatewayPlan, GatewayResult, StreamsResult } from './gatewayLoad.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { startProgram } from './program.ts';
import { atLeast, atMost, decimals, megabytes, type PartReport, type Table, whole } from './report.ts';

const targets = { addedMs: 2, streams: 100 };
const timeoutMs = 120_000;
const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const two = decimals(2);
const ms = (value: number) => `${two(value)} ms`;

async function measure(lifetime: Lifetime, plan: Plan): Promise<GatewayResult> {
  const { PATH, TMPDIR } = process.env;
  const env = { PATH, TMPDIR };
  const model = await startProgram(lifetime, [fileOf('./modelServer.ts')], env);
  const tokenFile = join(tmpdir(), 'gateway-token');
  const gateway = await startProgram(lifetime, [fileOf('./gatewayServer.ts'), model.url, tokenFile], env);
  const token = readFileSync(tokenFile, 'utf8');
  const gatewayPlan: GatewayPlan = {
    straight: { url: `${model.url}/v1/chat/completions`, token },
    through: { url: `${gateway.url}/model/openai/v1/chat/completions`, token },
    pid: gateway.pid,
    ...plan.gateway,
  };
  const result = await runChild<GatewayPlan, GatewayResult>(
    lifetime,
    fileOf('./gatewayLoad.ts'),
    gatewayPlan,
    timeoutMs,
  );
  await gateway.stop();
  await model.stop();
  return result;
}

function onesTable({ ones }: GatewayResult): Table {
  return {
    title: 'The gateway, one request after the other',
    heads: [
      'request',
      'straight, first byte p50 ms',
      'p99 ms',
      'through, p50 ms',
      'p99 ms',
      'added, p50 ms',
      'p99 ms',
    ],
    rows: ones.map(({ bodyBytes, straight, through }) => [
      `${whole(bodyBytes / 1_000)} KB`,
      two(straight.p50Ms),
      two(straight.p99Ms),
      two(through.p50Ms),
      two(through.p99Ms),
      two(through.p50Ms - straight.p50Ms),
      two(through.p99Ms - straight.p99Ms),
    ]),
  };
}

function streamsTable({ straight, through, bytes, cpuUs }: GatewayResult, plan: Plan): Table {
  const { streams, pieces, everyMs } = plan.gateway;
  const row = (name: string, { complete, piecesPerS, first, delivery }: StreamsResult) => [
    name,
    `${complete} of ${streams}`,
    whole(piecesPerS),
    two(first.p50Ms),
    two(first.p99Ms),
    two(delivery.p50Ms),
    two(delivery.p99Ms),
  ];
  return {
    title: `The gateway, ${streams} streams at once`,
    heads: [
      'way',
      'complete',
      'pieces/s',
      'first byte p50 ms',
      'p99 ms',
      'delivery of a piece p50 ms',
      'p99 ms',
    ],
    rows: [row('straight', straight), row('through', through)],
    note: `Each of ${pieces} pieces, one every ${everyMs} ms, all streams begun at once; delivery from when the model sent the piece. Memory of the gateway ${megabytes(bytes.before)} before, ${megabytes(bytes.most)} at most; ${whole(cpuUs)} µs of processor time a piece.`,
  };
}

export async function measureGateway(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { requests, streams, rounds } = plan.gateway;
  process.stderr.write(
    `gateway: ${requests} requests each way, then ${streams} streams, ${rounds} times …\n`,
  );
  const result = await measure(lifetime, plan);
  const added = result.ones.map(({ bodyBytes, straight, through }) =>
    atMost(
      `Added to the first byte by the gateway, p50, request of ${whole(bodyBytes / 1_000)} KB`,
      through.p50Ms - straight.p50Ms,
      targets.addedMs,
      ms,
    ),
  );
  return {
    tables: [onesTable(result), streamsTable(result, plan)],
    figures: [
      ...added,
      atLeast('Streams through one gateway at once', result.through.complete, targets.streams, whole),
    ],
  };
}
