// An agent that sends mutated messages on its standard streams: `node agent.ts FOLDER`. The prompt `fuzz SEED COUNT
// END` says how many, from which seed, and how the turn ends. What the service has read for certain is noted in the
// folder.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../chaos/random.ts';
import { type Json, validMessage } from './messages.ts';
import { endsRun, mutatedLine } from './mutate.ts';

/** Lines after which the service is asked a question: its answer says that it has read them. */
const chunkLines = 100;
const noteFile = join(process.argv[2] ?? '.', 'notes.jsonl');
const sessionId = 'fuzz-session';

const waiting = new Map<unknown, () => void>();
let asked = 0;

function write(data: string | Buffer): Promise<void> {
  return new Promise((resolve) => process.stdout.write(data, () => resolve()));
}

const send = (message: Json) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Settles when the service has answered, and so has read all that was written before. */
async function sync(): Promise<void> {
  const id = `sync-${++asked}`;
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(id, resolve);
  // A mutated line may have had no end.
  await write(`\n${JSON.stringify({ jsonrpc: '2.0', id, method: 'fuzz/sync', params: {} })}\n`);
  await promise;
}

async function sendChunk(count: number, seed: number, promptId: unknown): Promise<void> {
  const random = createRandom(seed);
  const lines: Buffer[] = [];
  while (lines.length < count) {
    const line = mutatedLine(validMessage(sessionId, random), random);
    if (!endsRun(line, promptId)) lines.push(line);
  }
  await write(Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
  await sync();
  appendFileSync(noteFile, `${JSON.stringify({ read: count })}\n`);
}

/** Ends the turn: as it should, or in a way that the service cannot go on from. */
async function endTurn(id: unknown, how: string): Promise<void> {
  if (how === 'exit') process.exit(3);
  if (how === 'half') {
    await write('{"jsonrpc":"2.0","id":');
    process.exit(0);
  }
  if (how === 'bogus') return send({ id, result: { stopReason: { toString: 1, valueOf: 1 } } });
  if (how === 'error') return send({ id, error: { code: { valueOf: 1 }, message: ['\ud800'] } });
  if (how === 'deep') return write(`{"params":${'['.repeat(40_000)}${']'.repeat(40_000)}}\n`);
  return send({ id, result: { stopReason: 'end_turn', usage: { toString: 1 } } });
}

async function prompt(id: unknown, params: Json): Promise<void> {
  const text = JSON.stringify(params['prompt']);
  // The last one: the message of a turn that was cut off is quoted before it.
  const [, seed = '0', count = '0', how = 'well'] =
    [...text.matchAll(/fuzz (\d+) (\d+) (\w+)/g)].at(-1) ?? [];
  for (let sent = 0; sent < Number(count); sent += chunkLines)
    await sendChunk(Math.min(chunkLines, Number(count) - sent), Number(seed) + sent, id);
  appendFileSync(noteFile, `${JSON.stringify({ turn: Number(seed) })}\n`);
  await endTurn(id, how);
}

const answers: Readonly<Record<string, (params: Json) => Json>> = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
  'session/new': () => ({ sessionId }),
  'session/load': () => ({}),
};

function take(line: string): void {
  const { id, method, params = {} } = JSON.parse(line) as { id?: unknown; method?: string; params?: Json };
  if (method === undefined) {
    waiting.get(id)?.();
    waiting.delete(id);
  } else if (method === 'session/prompt') void prompt(id, params);
  else if (id !== undefined) void send({ id, result: answers[method]?.(params) ?? {} });
}

// Not with readline, which also splits at U+2028: an id may hold it.
let rest = '';
process.stdin.setEncoding('utf8').on('data', (piece: string) => {
  const lines = `${rest}${piece}`.split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) take(line);
});
process.stdin.on('end', () => process.exit(0));
