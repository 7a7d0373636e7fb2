// Proves the simulation and the interleavings: `node test/simulation/mutation.ts [part of a name, or a group]…`. Each mutant must break
// one of the promises that it is expected to break. Prints a table.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createTemplate } from '../support/databases.ts';
import { startPostgres } from '../support/postgresServer.ts';
import { type Mutant, mutants } from './mutants.ts';

const seedsMax = 2_000;
const runTimeoutMs = 10 * 60_000;
const here = import.meta.dirname;

/** What to run for a mutant. A seed that is known to find it comes first. */
function argsOf({ group, seed = 1, breaks }: Mutant): string[] {
  if (group === 'lock') return [join(here, 'interleaveRun.ts'), ...breaks];
  return [join(here, 'run.ts'), '--from', `${seed}`, '--seeds', `${seedsMax}`, '--processes', '1'];
}

function run(mutant: Mutant): Promise<string> {
  const child = spawn(process.execPath, [`--import=${join(here, 'mutate.ts')}`, ...argsOf(mutant)], {
    env: { ...process.env, PARLEY_MUTANT: mutant.name },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: runTimeoutMs,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve) => child.on('close', () => resolve(output)));
}

async function judge(mutant: Mutant): Promise<void> {
  const output = await run(mutant);
  const [, where = '', found = ''] = /^(Seed \d+|Order \d+): ([a-z -]+):/m.exec(output) ?? [];
  const isCaught = mutant.breaks.includes(found) && !output.includes(notApplied);
  if (!isCaught) process.exitCode = 1;
  const shown = isCaught ? `\`${found}\`` : `NOT CAUGHT (${found || 'nothing'})`;
  console.log(`| ${mutant.group} | ${mutant.name} | ${shown} | ${where.toLowerCase()} |`);
}

/** What `mutate.ts` prints if a file was not loaded. */
const notApplied = 'NOT APPLIED';

const wanted = process.argv.slice(2);
const isWanted = ({ name, group }: Mutant) => wanted.some((one) => name.includes(one) || group === one);
const chosen = mutants.filter((mutant) => wanted.length === 0 || isWanted(mutant));
const waiting = [...chosen];
const startedAt = performance.now();

const postgres = chosen.some(({ group }) => group === 'lock')
  ? await startPostgres({ fsync: false })
  : undefined;
if (postgres !== undefined) {
  process.env['PARLEY_TEST_POSTGRES'] = postgres.url;
  await createTemplate();
}

console.log('| safeguard | taken out | found as | by |\n|---|---|---|---|');
async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await judge(next);
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
console.log(`\n${chosen.length} mutants in ${seconds} s.`);
await postgres?.stop();
// Said outright: a hook of the embedded server would otherwise end this process with 0.
process.exit(process.exitCode ?? 0);
