// Runs one group of tests beside a real PostgreSQL: `node test/run.ts fast [file…]`. The exit code is theirs.
import { spawn } from 'node:child_process';
import { createTemplate } from './support/databases.ts';
import { startPostgres } from './support/postgresServer.ts';
import { compileCacheDir, prepareProgram } from './support/program.ts';

interface Group {
  readonly files: readonly string[];
  readonly flags: readonly string[];
  /** A run that hangs is ended, and has failed. */
  readonly minutesMax: number;
  /** Processes that share the files between them. */
  readonly shards?: number;
}

const groups: Readonly<Record<string, Group>> = {
  fast: {
    files: [
      'src/*.test.ts',
      'src/!(acp|agents|bridge|runs|sandbox|workspaces)/**/*.test.ts',
      'src/agents/builtin/**/*.test.ts',
      'test/{fast,chaos,v0}/**/*.test.ts',
    ],
    flags: ['--test-isolation=none'],
    minutesMax: 15,
    shards: 2,
  },
  // They start programs, and mostly wait for them.
  runs: {
    files: [
      'src/{acp,bridge,runs,sandbox,workspaces}/**/*.test.ts',
      'src/agents/*.test.ts',
      'src/agents/!(builtin)/**/*.test.ts',
      'test/runs/**/*.test.ts',
    ],
    flags: ['--test-isolation=none'],
    minutesMax: 15,
    shards: 3,
  },
  faults: { files: ['test/faults/**/*.test.ts'], flags: ['--test-concurrency=2'], minutesMax: 15 },
  // Not part of `npm test`: processes are killed and databases fail over at many moments, which takes minutes.
  recovery: { files: ['test/recovery/**/*.test.ts'], flags: ['--test-concurrency=1'], minutesMax: 15 },
  // Each file has a browser of its own: two at a time.
  web: {
    files: ['test/web/**/*.test.ts', 'web/src/**/*.test.ts'],
    flags: ['--test-concurrency=2'],
    minutesMax: 15,
  },
  // Not part of `npm test`: they need programs that not every machine has, and skip those that are missing.
  clients: { files: ['test/clients/**/*.test.ts'], flags: [], minutesMax: 15 },
  // Not part of `npm test`, which has a short one.
  fuzz: { files: ['test/fuzz/**/*.test.ts'], flags: ['--test-isolation=none'], minutesMax: 15 },
  // Not part of `npm test`: the linters and generators are installed for it.
  openapi: { files: ['test/openapi/*.test.ts'], flags: [], minutesMax: 20 },
  // Not part of `npm test`: they install what others make, and take as long as that.
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
const { flags, minutesMax } = group;
const shards = files.length > 0 ? 1 : (group.shards ?? 1);

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
    env: { ...process.env, NODE_COMPILE_CACHE: compileCacheDir },
    timeout: minutesMax * 60_000,
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve) => child.on('exit', (exitCode) => resolve(exitCode ?? 1)));
}

const codes = await Promise.all(Array.from({ length: shards }, (_, i) => runShard(i + 1)));
await postgres.stop();
// Said outright: a hook of the embedded server would otherwise end this process with 0.
process.exit(Math.max(...codes));
