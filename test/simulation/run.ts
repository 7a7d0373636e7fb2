// Runs simulations: `node test/simulation/run.ts --seeds 2000 --from 1`, or one in full: `--seed 17 --trace`. The exit code
// is 1 if a promise was broken; the seed repeats it exactly.
import { parseArgs } from 'node:util';
import { openBench, type Result, simulate } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

function report({ seed, violation, trace }: Result): void {
  for (const line of trace) console.log(line);
  if (violation === undefined) return;
  console.log(`\nSeed ${seed}: ${violation.message}\n${violation.stack?.split('\n').slice(1, 4).join('\n')}`);
  console.log(`Repeat it with: node test/simulation/run.ts --seed ${seed} --trace`);
}

const bench = await openBench();
const startedAt = performance.now();
const totals = { steps: 0, conversations: 0, events: 0, deliveries: 0 };
for (let seed = from; seed < from + count; seed++) {
  const result = await simulate(bench, seed, { keepAll: values.trace });
  for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += result[name];
  if (result.violation === undefined && !values.trace) continue;
  report(result);
  if (result.violation !== undefined) process.exit(1);
}
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `${count} seeds from ${from}: ${totals.conversations} conversations, ${totals.events} events, ${totals.deliveries} deliveries, ${totals.steps} steps in ${seconds.toFixed(1)} s, and no promise was broken.`,
);
