// Runs simulations: `node test/simulation/run.ts --seeds 2000 --from 1`, or one in full: `--seed 17 --trace`. The exit code
// is 1 if a promise was broken; the seed repeats it exactly.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { openBench, type Result, simulate } from './simulate.ts';

/** Fewer seeds are not worth another process. */
const seedsPerProcessMin = 100;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});

interface Totals {
  seeds: number;
  conversations: number;
  events: number;
  deliveries: number;
  steps: number;
}

const none: Totals = { seeds: 0, conversations: 0, events: 0, deliveries: 0, steps: 0 };

function add(totals: Totals, more: Totals): void {
  for (const name of Object.keys(none) as (keyof Totals)[]) totals[name] += more[name];
}

function report({ seed, violation, trace }: Result): void {
  for (const line of trace) console.log(line);
  if (violation === undefined) return;
  console.log(`\nSeed ${seed}: ${violation.message}`);
  console.log(`Repeat it with: node test/simulation/run.ts --seed ${seed} --trace`);
}

/** Runs seeds in this process until one breaks a promise. */
async function runSeeds(from: number, count: number): Promise<Totals | undefined> {
  const bench = await openBench();
  const totals = { ...none };
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate(bench, seed, { keepAll: values.trace });
    add(totals, { ...result, seeds: 1 });
    if (result.violation !== undefined || values.trace) report(result);
    if (result.violation !== undefined) return undefined;
  }
  return totals;
}

/** Runs seeds in a process of their own, which tells its totals in its last line. */
function runElsewhere(from: number, count: number): Promise<Totals | undefined> {
  const args = [import.meta.filename, '--from', `${from}`, '--seeds', `${count}`, '--processes', '0'];
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      if (code === 0) return resolve(JSON.parse(output) as Totals);
      console.log(output);
      resolve(undefined);
    });
  });
}

const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const processes = Math.min(Number(values.processes), Math.ceil(count / seedsPerProcessMin));
const startedAt = performance.now();

if (processes === 0) {
  const totals = await runSeeds(from, count);
  if (totals !== undefined) console.log(JSON.stringify(totals));
  else process.exitCode = 1;
} else {
  const share = Math.ceil(count / processes);
  const parts = Array.from({ length: processes }, (_, i) => {
    const first = from + i * share;
    const seeds = Math.min(share, from + count - first);
    return processes === 1 ? runSeeds(first, seeds) : runElsewhere(first, seeds);
  });
  const totals = { ...none };
  for (const part of await Promise.all(parts)) {
    if (part === undefined) process.exitCode = 1;
    else add(totals, part);
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const { seeds, conversations, events, deliveries, steps } = totals;
  console.log(
    `${seeds} seeds from ${from}: ${conversations} conversations, ${events} events, ${deliveries} deliveries, ${steps} steps in ${seconds} s without a broken promise.`,
  );
}
