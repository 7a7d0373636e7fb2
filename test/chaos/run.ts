// npm run test:chaos -- [--seed N] [--seconds N] [--database sqlite|postgres] [--mutants]
// Processes are killed, stopped and cut off from their database under load; then a checker looks at what happened.
// `--seconds` is the time with faults, shared by the databases. The exit code is 1 where there was a violation; with
// `--mutants`, where the checker did not notice what was broken on purpose.
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { probeBubblewrap } from '../../src/sandbox/probe.ts';
import { databaseKinds } from '../support/databases.ts';
import { type PostgresServer, startPostgres } from '../support/postgresServer.ts';
import { mainFile, prepareProgram } from '../support/program.ts';
import { check } from './checker.ts';
import { hasSettableClock } from './clockFile.ts';
import type { History } from './history.ts';
import { buildMutant, mutants } from './mutants.ts';
import { createRandom } from './random.ts';
import { countBy, describeRound } from './report.ts';
import { playRound, type RoundOptions } from './round.ts';

const seedMax = 2 ** 31;
const say = (line: string) => void process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(randomInt(seedMax)) },
      seconds: { type: 'string', default: '60' },
      database: { type: 'string' },
      mutants: { type: 'boolean', default: false },
    },
  });
  const kinds = databaseKinds.filter((kind) => values.database === undefined || values.database === kind);
  const [seed, seconds] = [Number(values.seed), Number(values.seconds)];
  if (kinds.length === 0) throw new Error('--database must be sqlite or postgres');
  if (!Number.isSafeInteger(seed) || !(seconds > 0)) throw new Error('--seed and --seconds must be numbers');
  return { seed, seconds, kinds, mutants: values.mutants };
}

/** Agents of several users need a sandbox. */
async function chooseSandbox(): Promise<RoundOptions['sandbox']> {
  const probed = await probeBubblewrap({ hidden: [], folder: tmpdir(), seccomp: true });
  if ('engine' in probed) return 'bubblewrap';
  say(`There is one user only, and no check of what users see of each other: ${probed.fault}.`);
  return 'process';
}

/** What happened, whole, for whoever looks for the cause. */
function keepHistory(history: History, seed: number): void {
  const file = join(tmpdir(), `parley-chaos-${history.database}-${seed}.json`);
  writeFileSync(file, JSON.stringify(history));
  say(`  the whole history: ${file}`);
}

interface Setting {
  readonly sandbox: RoundOptions['sandbox'];
  readonly postgres: PostgresServer;
}

async function playSeed(
  setting: Setting,
  { seed, seconds, kinds }: ReturnType<typeof readOptions>,
): Promise<boolean> {
  let violations = 0;
  for (const kind of kinds) {
    const random = createRandom(seed).fork(kind);
    const options = { ...setting, kind, seconds: seconds / kinds.length, random, main: mainFile, say };
    const history = await playRound(options);
    const verdict = check(history);
    for (const line of describeRound(history, verdict)) say(line);
    if (verdict.violations.length > 0) keepHistory(history, seed);
    violations += verdict.violations.length;
  }
  say(violations === 0 ? 'No violations.' : `${violations} violations. Play it again with --seed ${seed}.`);
  return violations === 0;
}

/** Whether every mutant was caught. */
async function playMutants(setting: Setting, kinds: readonly DatabaseKind[]): Promise<boolean> {
  let missed = 0;
  for (const mutant of mutants.filter(({ database }) => kinds.includes(database))) {
    const { name, database: kind, seed, faults: onlyFaults, expected } = mutant;
    say(`mutant: ${name}`);
    const { main, remove } = buildMutant(mutant);
    try {
      const random = createRandom(seed);
      const history = await playRound({ ...setting, ...mutant, kind, random, main, onlyFaults, say });
      const { violations } = check(history);
      const found = countBy(violations, (violation) => violation.kind);
      const caught = violations.some((violation) => expected.includes(violation.kind));
      if (!caught) keepHistory(history, seed);
      say(`  ${caught ? 'caught' : 'NOT CAUGHT'}: ${found}; expected ${expected.join(' or ')}`);
      if (!caught) missed += 1;
    } finally {
      remove();
    }
  }
  return missed === 0;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (!options.mutants) say(`seed ${options.seed}`);
  await prepareProgram();
  if (!hasSettableClock()) say('Clocks are not set: libfaketime is not installed (Debian package faketime).');
  const sandbox = await chooseSandbox();
  const postgres = await startPostgres({ fsync: false });
  process.env['PARLEY_TEST_POSTGRES'] = postgres.url;
  const setting = { sandbox, postgres };
  const good = await (options.mutants ? playMutants(setting, options.kinds) : playSeed(setting, options));
  await postgres.stop();
  return good ? 0 : 1;
}

// Said outright: a hook of the embedded server would otherwise end this process with 0.
process.exit(await main());
