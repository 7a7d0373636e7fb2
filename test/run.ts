// Runs one group of tests beside a real PostgreSQL: `node test/run.ts fast [file…]`. The exit code is theirs.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTemplate } from './support/databases.ts';
import { startPostgres } from './support/postgresServer.ts';
import { compileCacheDir, prepareProgram } from './support/program.ts';
import { readResults, summarize } from './support/results.ts';

interface Group {
  readonly files: readonly string[];
  readonly flags: readonly string[];
  /** A run that hangs is ended, and has failed. */
  readonly minutesMax: number;
  /** Processes that run at the same time, until all shards of the files are done. */
  readonly processes?: number;
}

/**
 * A group with several processes has this many shards for each of them. Small ones end at about the same time, and a
 * process that stays small starts its programs faster, because Node copies its page tables for each.
 */
const shardsPerProcess = 3;

const groups: Readonly<Record<string, Group>> = {
  fast: {
    files: [
      'src/*.test.ts',
      'src/!(accounts|acp|agents|backups|bridge|cli|runs|sandbox|signIn|workspaces)/**/*.test.ts',
      'src/agents/builtin/**/*.test.ts',
      'test/{fast,chaos,v0}/**/*.test.ts',
      'test/simulation/simulation.test.ts',
    ],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 2,
  },
  // They start programs, and mostly wait for them.
  runs: {
    files: [
      'src/{acp,bridge,sandbox}/**/*.test.ts',
      'src/runs/!(snapshot*|ownMachine).test.ts',
      'src/runs/*/**/*.test.ts',
      'src/agents/*.test.ts',
      'src/agents/!(builtin)/**/*.test.ts',
      'test/runs/**/*.test.ts',
    ],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 3,
  },
  // Not part of `npm test`, like all that follow: each test starts the command line several times.
  cli: {
    files: ['test/cli/**/*.test.ts', 'src/cli/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 2,
  },
  // What operators use.
  operations: {
    files: ['src/{accounts,backups,signIn}/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 2,
  },
  // Repositories that are cloned, patched, read and written.
  workspaces: {
    files: ['src/workspaces/*.test.ts', 'src/workspaces/!(snapshots)/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 2,
  },
  // Conversations that move to another machine.
  machines: {
    files: ['src/runs/{snapshot*,ownMachine}.test.ts', 'src/workspaces/snapshots/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
    processes: 2,
  },
  faults: { files: ['test/faults/**/*.test.ts'], flags: ['--test-concurrency=2'], minutesMax: 30 },
  // Processes are killed and databases fail over at many moments, which takes minutes.
  recovery: { files: ['test/recovery/**/*.test.ts'], flags: ['--test-concurrency=1'], minutesMax: 30 },
  // They wait for locks on purpose.
  interleavings: { files: ['test/simulation/interleavings.test.ts'], flags: [], minutesMax: 30 },
  // Each file has a browser of its own: two at a time.
  web: {
    files: ['test/web/**/*.test.ts', 'web/src/**/*.test.ts'],
    flags: ['--test-concurrency=2'],
    minutesMax: 30,
  },
  // They need programs that not every machine has, and skip those that are missing.
  clients: { files: ['test/clients/**/*.test.ts'], flags: [], minutesMax: 30 },
  // `npm test` has a short one.
  fuzz: { files: ['test/fuzz/**/*.test.ts'], flags: ['--test-isolation=none'], minutesMax: 30 },
  // The linters and generators are installed for it.
  openapi: { files: ['test/openapi/*.test.ts'], flags: [], minutesMax: 20 },
  // npm installs the package from the registry.
  packaging: { files: ['test/packaging/**/*.test.ts'], flags: ['--test-concurrency=1'], minutesMax: 30 },
  // A Docker engine of their own runs, with images that are made first. One process, so that all files share it.
  docker: {
    files: ['test/docker/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 30,
  },
  // A Kubernetes of their own runs, which is built first where that has not happened yet. Not part of `.ci/run`.
  kubernetes: {
    files: ['test/kubernetes/**/*.test.ts'],
    flags: ['--test-isolation=none'],
    minutesMax: 60,
  },
  // They install what others make, and take as long as that.
  agents: { files: ['test/agents/**/*.test.ts'], flags: ['--test-concurrency=1'], minutesMax: 30 },
};

const [name = '', ...files] = process.argv.slice(2);
const group = groups[name];
if (group === undefined) throw new Error(`say one of ${Object.keys(groups).join(', ')}`);

await prepareProgram();
const postgres = await startPostgres({ fsync: false });
process.env['PARLEY_TEST_POSTGRES'] = postgres.url;
await createTemplate();
const reporter = new URL('./support/reporter.ts', import.meta.url).href;
const useBuild = new URL('./support/useBuild.ts', import.meta.url).href;
const { flags, minutesMax, processes = 1 } = group;
const isWhole = files.length === 0 && processes > 1;
const shards = isWhole ? processes * shardsPerProcess : 1;
const resultsDir = mkdtempSync(join(tmpdir(), 'parley-results-'));

function runShard(shard: number): Promise<number> {
  const args = [
    `--import=${useBuild}`,
    '--test',
    `--test-reporter=${reporter}`,
    ...flags,
    ...(shards === 1 ? [] : [`--test-shard=${shard}/${shards}`]),
    ...(files.length > 0 ? files : (group?.files ?? [])),
  ];
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: compileCacheDir,
      PARLEY_TEST_RESULTS: join(resultsDir, `${shard}.json`),
    },
    timeout: minutesMax * 60_000,
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve) => child.on('exit', (exitCode) => resolve(exitCode ?? 1)));
}

const codes: number[] = [];
const waiting = Array.from({ length: shards }, (_, i) => i + 1);

async function runWaiting(): Promise<void> {
  for (let shard = waiting.shift(); shard !== undefined; shard = waiting.shift())
    codes.push(await runShard(shard));
}

await Promise.all(Array.from({ length: processes }, runWaiting));
const results = readResults(resultsDir);
rmSync(resultsDir, { recursive: true });
process.stdout.write(summarize(results));
// Whatever its exit code is: a process without results has not run its tests.
if (results.length < shards) codes.push(1);
await postgres.stop();
// Said outright: a hook of the embedded server would otherwise end this process with 0.
process.exit(Math.max(...codes));
