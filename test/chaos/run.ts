// npm run test:chaos -- [--seed N] [--seconds N] [--database sqlite|postgres] [--mutants]
// Processes are killed, stopped and cut off from their database under load; then a checker looks at what happened.
// `--seconds` is the time with faults, shared by the databases. The exit code is 1 where there was a violation.
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { probeBubblewrap } from '../../src/runtime/sandbox/probe.ts';
import { databaseKinds } from '../support/databases.ts';
import { startPostgres } from '../support/postgresServer.ts';
import { mainFile, prepareProgram } from '../support/program.ts';
import { check } from './checker.ts';
import { hasSettableClock } from './clockFile.ts';
import { createRandom } from './random.ts';
import { describeRound } from './report.ts';
import { playRound, type RoundOptions } from './round.ts';

const seedMax = 2 ** 31;
const say = (line: string) => void process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(randomInt(seedMax)) },
      seconds: { type: 'string', default: '60' },
      database: { type: 'string' },
    },
  });
  const kinds = databaseKinds.filter((kind) => values.database === undefined || values.database === kind);
  const [seed, seconds] = [Number(values.seed), Number(values.seconds)];
  if (kinds.length === 0) throw new Error('--database must be sqlite or postgres');
  if (!Number.isSafeInteger(seed) || !(seconds > 0)) throw new Error('--seed and --seconds must be numbers');
  return { seed, seconds, kinds };
}

/** Agents of several users need a sandbox. */
async function chooseSandbox(): Promise<RoundOptions['sandbox']> {
  const probed = await probeBubblewrap({ hidden: [], folder: tmpdir(), seccomp: true });
  if ('sandbox' in probed) return 'bubblewrap';
  say(`There is one user only, and no check of what users see of each other: ${probed.fault}.`);
  return 'process';
}

async function main(): Promise<number> {
  const { seed, seconds, kinds } = readOptions();
  say(`seed ${seed}`);
  await prepareProgram();
  if (!hasSettableClock()) say('Clocks are not set: libfaketime is not installed (Debian package faketime).');
  const sandbox = await chooseSandbox();
  const postgres = kinds.includes('postgres') ? await startPostgres({ fsync: false }) : undefined;
  if (postgres !== undefined) process.env['PARLEY_TEST_POSTGRES'] = postgres.url;
  let violations = 0;
  for (const kind of kinds) {
    const random = createRandom(seed).fork(kind);
    const options = { kind, seconds: seconds / kinds.length, random, main: mainFile, sandbox, postgres, say };
    const history = await playRound(options);
    const verdict = check(history);
    for (const line of describeRound(history, verdict)) say(line);
    violations += verdict.violations.length;
  }
  await postgres?.stop();
  say(violations === 0 ? 'No violations.' : `${violations} violations. Play it again with --seed ${seed}.`);
  return violations === 0 ? 0 : 1;
}

// Said outright: a hook of the embedded server would otherwise end this process with 0.
process.exit(await main());
