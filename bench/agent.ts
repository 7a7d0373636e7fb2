// Measures the built-in agent alone: the time until its session is open, and its memory until the end of its first turn,
// with a scripted model of each API.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { configVariable } from '../src/agents/builtin/config.ts';
import { createScriptedModel, listenScriptedModel } from '../src/agents/trial/scriptedModel/server.ts';
import { type Protocol, protocols } from '../src/models/protocols.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { residentBytes } from './processes.ts';
import { atMost, megabytes, type PartReport, whole } from './report.ts';
import { median, spread } from './statistics.ts';

const targets = { readyMs: 400, bytes: 120e6 };
const program = fileURLToPath(new URL('../dist/agents/builtin/main.js', import.meta.url));
const prompt = [{ type: 'text' as const, text: 'Go.' }];

interface Start {
  /** The time from just before the spawn until the session is open. */
  readonly readyMs: number;
  readonly turnMs: number;
  readonly readyBytes: number;
  /** The highest memory use. */
  readonly peakBytes: number;
}

function peakBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
}

async function start(lifetime: Lifetime, gateway: string): Promise<Start> {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  const config = JSON.stringify({ gateway, token: 'bench', condense: 'true' });
  const env = { PATH: process.env['PATH'], HOME: home, [configVariable]: config };
  const spawnedAt = performance.now();
  const child = spawn(process.execPath, [program], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  lifetime.adopt(child);
  const { agent } = client({ name: 'bench' })
    .onNotification(methods.client.session.update, () => {})
    .onRequest(methods.client.session.requestPermission, () => ({
      outcome: { outcome: 'selected' as const, optionId: 'once' },
    }))
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
      ),
    );
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: home, mcpServers: [] });
  const readyMs = performance.now() - spawnedAt;
  const pid = child.pid ?? 0;
  const readyBytes = residentBytes(pid);
  await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  const turnMs = performance.now() - spawnedAt;
  const peak = peakBytes(pid);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin.end();
  await ended;
  return { readyMs, turnMs, readyBytes, peakBytes: peak };
}

async function measureProtocol(lifetime: Lifetime, protocol: Protocol, starts: number): Promise<Start[]> {
  const model = createScriptedModel([{ run: 'true' }, { say: 'Done.' }], { protocol, requestsMax: 10_000 });
  const { origin, close } = await listenScriptedModel(model);
  const measured: Start[] = [];
  for (let i = 0; i < starts; i++) measured.push(await start(lifetime, origin));
  await close();
  return measured;
}

export async function measureAgent(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { starts } = plan.agent;
  process.stderr.write(`agent: ${starts} starts with each of ${protocols.length} model APIs …\n`);
  const all: Start[] = [];
  const rows: string[][] = [];
  for (const protocol of protocols) {
    const measured = await measureProtocol(lifetime, protocol, starts);
    all.push(...measured);
    const of = (member: keyof Start) => measured.map((one) => one[member]);
    rows.push([
      protocol,
      `${whole(median(of('readyMs')))} (${spread(of('readyMs'), whole)})`,
      whole(median(of('turnMs'))),
      megabytes(median(of('readyBytes'))),
      megabytes(Math.max(...of('peakBytes'))),
    ]);
  }
  return {
    tables: [
      {
        title: 'The built-in agent',
        heads: ['model API', 'session open ms', 'first turn over ms', 'memory then', 'most memory'],
        rows,
        note: 'From before it is spawned, without a sandbox; the turn is two requests and a command. The most memory of all starts, up to the end of that turn.',
      },
    ],
    figures: [
      atMost(
        'Built-in agent ready after spawn, median',
        median(all.map(({ readyMs }) => readyMs)),
        targets.readyMs,
        (v) => `${whole(v)} ms`,
      ),
      atMost(
        'Memory of the built-in agent, most',
        Math.max(...all.map((one) => one.peakBytes)),
        targets.bytes,
        megabytes,
      ),
    ],
  };
}
