// Drives ACP clients that send mutated messages, over WebSocket and through `parley acp`, beside a client that must go on
// as usual.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { socketStream } from '../../src/acp/socketStream.ts';
import { createRandom, type Random } from '../chaos/random.ts';
import { connectAcp } from '../support/acpClient.ts';
import { mainFile } from '../support/program.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService } from '../support/workers.ts';
import { clientMessage } from './clientMessages.ts';
import { mutatedLine } from './mutate.ts';

const socketClients = 3;
/** After so many messages, a client must still get an answer. */
const batchMessages = 200;
const answerMsMax = 60_000;
const kib = 1_024;
/** Far more than the service needs, and far less than it would without bounds. */
const memoryBytesMax = 1_500 * kib * kib;

interface Options {
  readonly seed: number;
  readonly messages: number;
}

export interface ClientFuzzResult {
  readonly messages: number;
  /** How often the service closed a connection, such as for text that is not UTF-8. */
  readonly reconnections: number;
  /** Turns of the other client meanwhile. */
  readonly otherTurns: number;
  readonly memoryMib: number;
}

type After = { after(fn: () => Promise<void>): void };

const initialize = Buffer.from(
  JSON.stringify({ jsonrpc: '2.0', id: 'start', method: 'initialize', params: { protocolVersion: 1 } }),
);

/** A connection that is opened again when the service closes it. */
interface Line {
  send(line: Buffer): void;
  isOpen(): boolean;
  /** Everything that was received. */
  received(): string;
  open(): Promise<void>;
}

function socketLine({ url, key }: WorkerService, t: After): Line {
  let socket: WebSocket | undefined;
  let received = '';
  t.after(async () => socket?.terminate());
  return {
    send: (line) => socket?.send(line, { binary: false }, () => {}),
    isOpen: () => socket?.readyState === WebSocket.OPEN,
    received: () => received,
    open: async () => {
      socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, { headers: { 'X-Session-API-Key': key } });
      socket.on('error', () => {});
      socket.on('message', (data) => (received = (received + data).slice(-64 * kib)));
      await once(socket, 'open');
      socket.send(initialize, { binary: false });
    },
  };
}

/** One that ends is a failure: nothing that a client sends ends `parley acp`. */
function pipeLine({ url, key }: WorkerService, t: After): Line & { stderr(): string } {
  const env = { PATH: process.env['PATH'] ?? '', PARLEY_URL: url, PARLEY_KEY: key };
  const child = spawn(process.execPath, [mainFile, 'acp'], { env, stdio: 'pipe' });
  t.after(async () => void child.kill('SIGKILL'));
  let [received, stderr] = ['', ''];
  child.stdin.on('error', () => {});
  child.stdout.on('data', (data) => (received = (received + data).slice(-64 * kib)));
  child.stderr.on('data', (data) => (stderr += data));
  return {
    send: (line) => void child.stdin.write(Buffer.concat([line, Buffer.from('\n')])),
    isOpen: () => child.exitCode === null || assert.fail(stderr),
    received: () => received,
    stderr: () => stderr,
    open: async () => void child.stdin.write(`${initialize}\n`),
  };
}

/** Sends mutated messages, and checks now and then that the client is still answered. */
async function drive(line: Line, sessions: readonly string[], count: number, random: Random) {
  let reconnections = 0;
  await line.open();
  const ensureOpen = async () => {
    if (line.isOpen()) return;
    reconnections += 1;
    await line.open();
  };
  for (let sent = 0; sent < count; ) {
    for (let i = 0; i < batchMessages && sent < count; i++, sent++)
      line.send(mutatedLine(clientMessage(sessions, random), random));
    const probe = `probe-${random.next()}`;
    const request = { jsonrpc: '2.0', id: probe, method: 'session/list', params: {} };
    await until(
      `a client is answered after ${sent} messages`,
      async () => {
        await ensureOpen();
        if (line.received().includes(probe)) return true;
        // It may have been refused, because others are in progress.
        line.send(Buffer.from(JSON.stringify(request)));
        await new Promise((resolve) => setTimeout(resolve, 100));
        return line.received().includes(probe);
      },
      answerMsMax,
    );
  }
  return reconnections;
}

/** Has a first turn, so that its agent runs, and returns the function that goes on until it is told to stop. */
async function startTalk({ url, key }: WorkerService, isOver: () => boolean): Promise<() => Promise<number>> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, { headers: { 'X-Session-API-Key': key } });
  await once(socket, 'open');
  const client = await connectAcp(socketStream(socket));
  const id = await client.newSession();
  let said = '';
  async function turn(number: number): Promise<void> {
    assert.equal(await client.prompt(id, `say words${number}`), 'end_turn');
    said += `words${number}`;
    assert.equal(client.text(id), said);
  }
  await turn(0);
  return async () => {
    let turns = 1;
    for (; !isOver() || turns < 3; turns++) await turn(turns);
    socket.terminate();
    return turns;
  };
}

function peakMemoryBytes(pid: number | undefined): number {
  const [, peak = '0'] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(peak) * kib;
}

/** Throws if the service or `parley acp` fails, or the other client notices anything. */
export async function fuzzClients({ seed, messages }: Options, t: After): Promise<ClientFuzzResult> {
  const { serve } = await createWorkerSite('sqlite', t, mainFile);
  const service = await serve();
  await service.set({ agent: 'fake' });
  const sessions = await Promise.all(Array.from({ length: 4 }, () => service.create()));
  const random = createRandom(seed);
  const pipe = pipeLine(service, t);
  const lines: Line[] = [pipe, ...Array.from({ length: socketClients }, () => socketLine(service, t))];
  let isOver = false;
  const talk = await startTalk(service, () => isOver);
  const each = Math.ceil(messages / lines.length);
  const driving = Promise.all(
    lines.map((line, i) => drive(line, sessions, each, random.fork(`client ${i}`))),
  );
  const [reconnections, otherTurns] = await Promise.all([driving.finally(() => (isOver = true)), talk()]);

  const bytes = peakMemoryBytes(service.pid);
  assert.ok(bytes < memoryBytesMax, `the service needed ${Math.round(bytes / kib / kib)} MiB`);
  assert.doesNotMatch(service.stderr(), /uncaught error|Error handling|unknown request/);
  assert.equal(pipe.stderr(), '');
  service.send('SIGTERM');
  assert.equal((await service.ended()).code, 0, 'the service stops in order');
  return {
    messages: each * lines.length,
    reconnections: reconnections.reduce((sum, one) => sum + one, 0),
    otherTurns,
    memoryMib: Math.round(bytes / kib / kib),
  };
}
