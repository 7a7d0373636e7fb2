// Sends the same model requests directly and through the gateway, in turns, from its own process: one after the other,
// and many streams at once.
import { Agent, request } from 'node:http';
import { answerParent } from './child.ts';
import { cpuUs, residentBytes, sharedMs } from './processes.ts';
import { median, percentile } from './statistics.ts';

/** The fields that the model of the benchmark uses. */
export interface ModelBody {
  readonly pieces: number;
  readonly every_ms: number;
}

export interface Way {
  readonly url: string;
  readonly token: string;
}

export interface GatewayPlan {
  readonly straight: Way;
  readonly through: Way;
  /** The process of the gateway, whose memory and CPU time are measured. */
  readonly pid: number;
  /** The size of the history, which every request contains. */
  readonly bodyBytes: readonly number[];
  readonly warmups: number;
  readonly requests: number;
  readonly streams: number;
  readonly rounds: number;
  readonly pieces: number;
  readonly everyMs: number;
}

export interface Spread {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface StreamsResult {
  readonly complete: number;
  readonly piecesPerS: number;
  /** The time from the request to the first piece. */
  readonly first: Spread;
  /** The time since the model sent a piece. */
  readonly delivery: Spread;
}

export interface GatewayResult {
  readonly ones: readonly {
    readonly bodyBytes: number;
    readonly straight: Spread;
    readonly through: Spread;
  }[];
  readonly straight: StreamsResult;
  readonly through: StreamsResult;
  /** The memory of the gateway before the streams, and its maximum during them. */
  readonly bytes: { readonly before: number; readonly most: number };
  /** The CPU time of the gateway per piece. */
  readonly cpuUs: number;
}

const lookEveryMs = 100;
const sentAt = /"sent_at":([\d.]+)/g;
const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });

interface Asked {
  readonly firstMs: number;
  readonly deliveriesMs: readonly number[];
}

function bodyOf(bytes: number, pieces: number, everyMs: number): string {
  const content = 'All that was said, read and done before. '.repeat(Math.ceil(bytes / 41)).slice(0, bytes);
  const heeded: ModelBody = { pieces, every_ms: everyMs };
  return JSON.stringify({ model: 'any', stream: true, messages: [{ role: 'user', content }], ...heeded });
}

/** Rejects if the response is not a stream or breaks off. */
function ask({ url, token }: Way, body: string): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`the answer was ${answer.statusCode}`));
      let firstMs = 0;
      let rest = '';
      const deliveriesMs: number[] = [];
      answer.setEncoding('utf8');
      answer.on('data', (text: string) => {
        const now = sharedMs();
        firstMs ||= performance.now() - began;
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const [, at] of lines.join('\n').matchAll(sentAt)) deliveriesMs.push(now - Number(at));
      });
      answer.on('end', () => resolve({ firstMs, deliveriesMs }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}

/** Sends one request after the other, alternating between both ways, so that noise of the machine affects both. */
async function askOnes({ straight, through, warmups, requests }: GatewayPlan, bodyBytes: number) {
  const body = bodyOf(bodyBytes, 1, 0);
  const times = { straight: [] as number[], through: [] as number[] };
  for (let i = 0; i < warmups + requests; i++) {
    const both = { straight: await ask(straight, body), through: await ask(through, body) };
    if (i < warmups) continue;
    times.straight.push(both.straight.firstMs);
    times.through.push(both.through.firstMs);
  }
  return { bodyBytes, straight: spreadOf(times.straight), through: spreadOf(times.through) };
}

async function askMany(plan: GatewayPlan, way: Way): Promise<StreamsResult> {
  const { streams, pieces, everyMs, bodyBytes } = plan;
  const body = bodyOf(bodyBytes.at(0) ?? 0, pieces, everyMs);
  const began = performance.now();
  const settled = await Promise.allSettled(Array.from({ length: streams }, () => ask(way, body)));
  const seconds = (performance.now() - began) / 1_000;
  const whole = settled
    .flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    .filter(({ deliveriesMs }) => deliveriesMs.length === pieces);
  const deliveries = whole.flatMap(({ deliveriesMs }) => deliveriesMs);
  return {
    complete: whole.length,
    piecesPerS: deliveries.length / seconds,
    first: spreadOf(whole.map(({ firstMs }) => firstMs)),
    delivery: spreadOf(deliveries),
  };
}

function mediansOf(rounds: readonly StreamsResult[]): StreamsResult {
  const of = (value: (round: StreamsResult) => number) => median(rounds.map(value));
  return {
    complete: Math.min(...rounds.map(({ complete }) => complete)),
    piecesPerS: of(({ piecesPerS }) => piecesPerS),
    first: { p50Ms: of(({ first }) => first.p50Ms), p99Ms: of(({ first }) => first.p99Ms) },
    delivery: { p50Ms: of(({ delivery }) => delivery.p50Ms), p99Ms: of(({ delivery }) => delivery.p99Ms) },
  };
}

async function run(plan: GatewayPlan): Promise<GatewayResult> {
  const { straight, through, pid, rounds, streams, pieces } = plan;
  const ones = [];
  for (const bytes of plan.bodyBytes) ones.push(await askOnes(plan, bytes));
  const before = residentBytes(pid);
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, residentBytes(pid));
  }, lookEveryMs);
  const results = { straight: [] as StreamsResult[], through: [] as StreamsResult[] };
  let cpu = 0;
  for (let round = 0; round < rounds; round++) {
    results.straight.push(await askMany(plan, straight));
    const cpuBefore = cpuUs(pid);
    results.through.push(await askMany(plan, through));
    cpu += cpuUs(pid) - cpuBefore;
  }
  clearInterval(looking);
  return {
    ones,
    straight: mediansOf(results.straight),
    through: mediansOf(results.through),
    bytes: { before, most },
    cpuUs: cpu / (rounds * streams * pieces),
  };
}

if (import.meta.main) answerParent(run);
