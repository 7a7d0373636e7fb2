// Measures a run with the scripted agent: the time from the creation to RUNNING, its memory without the agent, and the
// time until another worker takes it over after a kill.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { probeBubblewrap } from '../src/sandbox/probe.ts';
import { createStorage, type TestStorage } from '../test/support/databases.ts';
import { inspect } from '../test/support/inspect.ts';
import { fakeAgentPath, writeAgents } from '../test/support/runs.ts';
import { until } from '../test/support/until.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { residentBytes } from './processes.ts';
import { atMost, decimals, type Figure, notMeasured, type PartReport, whole } from './report.ts';
import { sendOnce, sessionKey } from './requests.ts';
import { type Service, startService } from './service.ts';
import { median, percentile, spread } from './statistics.ts';

const targets = {
  runningMs: { process: 300, bubblewrap: 500 },
  memoryBytes: 2e6,
  takeoverMs: 10_000,
};
const settleMs = 3_000;
const waitMs = 60_000;
const json = { 'X-Session-API-Key': sessionKey, 'Content-Type': 'application/json' };

type Kind = keyof typeof targets.runningMs;

function startWorkers(lifetime: Lifetime, storage: TestStorage, sandbox: Kind): Promise<Service> {
  const { PATH } = process.env;
  return startService(lifetime, storage, {
    PATH: `${fakeAgentPath()}:${PATH}`,
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: sandbox,
    PARLEY_SLOTS: '1000',
    PARLEY_RUNNING_MAX: '0',
  });
}

async function post(url: string, path: string, body: unknown): Promise<{ conversation_id: string }> {
  const answer = await sendOnce(url, { method: 'POST', path, headers: json, body: JSON.stringify(body) });
  return JSON.parse(answer.body);
}

async function statusOf(url: string, id: string): Promise<string> {
  const answer = await sendOnce(url, { method: 'GET', path: `/api/conversations/${id}`, headers: json });
  const { status, stop_reason: reason } = JSON.parse(answer.body);
  if (status === 'STOPPED') throw new Error(`a conversation stopped: ${JSON.stringify(reason)}`);
  return status;
}

/** Polls every few milliseconds, which is part of the result. */
async function toRunning(url: string): Promise<number> {
  const began = performance.now();
  const { conversation_id: id } = await post(url, '/api/conversations', { initial_user_msg: 'say hello' });
  while ((await statusOf(url, id)) !== 'RUNNING') await sleep(2);
  return performance.now() - began;
}

/** Returns every descendant of this process, with its program. */
function descendants(pid: number): { pid: number; program: string }[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(text) ?? [];
        return [{ pid: Number(name), parent: Number(rest.split(' ')[1]), program }];
      } catch {
        return [];
      }
    });
  const below = (of: number): { pid: number; program: string }[] =>
    parents.filter(({ parent }) => parent === of).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

/** Returns the proportional set size. */
function proportionalBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1_024;
}

/** The service and the sandboxes: all processes but the agents, which are programs of Node. */
function ownBytes({ pid }: Service): number {
  const around = descendants(pid).filter(({ program }) => !/node|MainThread|fake-agent/.test(program));
  return residentBytes(pid) + around.reduce((sum, one) => sum + proportionalBytes(one.pid), 0);
}

interface KindReport {
  readonly row: readonly string[];
  readonly figures: readonly Figure[];
}

async function measureKind(lifetime: Lifetime, plan: Plan, kind: Kind): Promise<KindReport> {
  const { starts, crowd } = plan.runs;
  process.stderr.write(`runs in ${kind}, ${starts} starts, then ${crowd} at once …\n`);
  const storage = await createStorage('sqlite');
  writeAgents(storage.dataDir);
  const service = await startWorkers(lifetime, storage, kind);
  await post(service.url, '/api/settings', { agent: 'fake' });
  await toRunning(service.url);
  const times: number[] = [];
  for (let i = 0; i < starts; i++) times.push(await toRunning(service.url));
  await sleep(settleMs);
  const before = ownBytes(service);
  for (let i = 0; i < crowd; i++) await toRunning(service.url);
  await sleep(settleMs);
  const each = (ownBytes(service) - before) / crowd;
  await service.stop();
  await storage.remove();

  const ms = (value: number) => `${whole(value)} ms`;
  const mb = (value: number) => `${decimals(1)(value / 1e6)} MB`;
  const sorted = times.toSorted((a, b) => a - b);
  return {
    row: [kind, ms(median(times)), ms(percentile(sorted, 0.9)), spread(times, ms), mb(each)],
    figures: [
      atMost(`Creation to RUNNING, p50, ${kind}`, median(times), targets.runningMs[kind], ms),
      atMost(`Memory of a running conversation without its agent, ${kind}`, each, targets.memoryBytes, mb),
    ],
  };
}

async function runOf(storage: TestStorage, id: string) {
  const [row] = await inspect(storage, `select run_id, owner, steps from conversations where id = '${id}'`);
  return { runId: row?.['run_id'], owner: String(row?.['owner']), steps: Number(row?.['steps']) };
}

/** Starts two processes on one PostgreSQL, and kills the one that runs the conversation. */
async function measureTakeover(lifetime: Lifetime, plan: Plan): Promise<Figure> {
  process.stderr.write(`takeover, ${plan.runs.takeovers} times …\n`);
  const times: number[] = [];
  for (let i = 0; i < plan.runs.takeovers; i++) {
    const storage = await createStorage('postgres');
    writeAgents(storage.dataDir);
    const first = await startWorkers(lifetime, storage, 'process');
    await post(first.url, '/api/settings', { agent: 'fake' });
    const { conversation_id: id } = await post(first.url, '/api/conversations', { initial_user_msg: 'hang' });
    await until('it runs', async () => (await statusOf(first.url, id)) === 'RUNNING', waitMs);
    const second = await startWorkers(lifetime, storage, 'process');
    const before = await runOf(storage, id);
    process.kill(first.pid, 'SIGKILL');
    const began = performance.now();
    await until(
      'another has it',
      async () => {
        const now = await runOf(storage, id);
        // The first steps belong to the start. With the fourth, the conversation is RUNNING again.
        return now.runId !== null && now.runId !== before.runId && now.steps >= 3;
      },
      waitMs,
    );
    times.push(performance.now() - began);
    await second.stop();
    await storage.remove();
  }
  return atMost(
    'A killed worker is taken over',
    Math.max(...times),
    targets.takeoverMs,
    (value) => `${whole(value)} ms`,
  );
}

export async function measureRuns(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const reports = [await measureKind(lifetime, plan, 'process')];
  const probed = await probeBubblewrap({
    hidden: [],
    folder: process.env['TMPDIR'] ?? '/tmp',
    seccomp: true,
  });
  const missing =
    'fault' in probed ? [notMeasured('Creation to RUNNING, p50, bubblewrap', '≤ 500 ms', probed.fault)] : [];
  if ('engine' in probed) reports.push(await measureKind(lifetime, plan, 'bubblewrap'));
  const takeover = await measureTakeover(lifetime, plan);
  return {
    tables: [
      {
        title: 'Runs with the scripted agent',
        heads: ['sandbox', 'to RUNNING, p50', 'p90', 'range', 'memory each, without the agent'],
        rows: reports.map(({ row }) => row),
      },
    ],
    figures: [...reports.flatMap(({ figures }) => figures), ...missing, takeover],
  };
}
