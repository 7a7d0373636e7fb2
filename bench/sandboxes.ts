// Measures how long each sandbox takes to start a program, and how much memory it needs. Docker and gVisor need an engine
// that this part starts, with an image of Debian's packages; without root or these programs they are skipped.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findMissingEngine, startDockerEngine } from '../test/support/dockerEngine.ts';
import { baseImage, buildOn, importBase } from '../test/support/dockerImages.ts';
import { prepareProgram } from '../test/support/program.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { decimals, type PartReport, whole } from './report.ts';
import type { SandboxStarts } from './sandboxStarts.ts';

const image = 'parley-bench/sandbox';
const useBuild = new URL('../test/support/useBuild.ts', import.meta.url).href;
const program = new URL('./sandboxStarts.ts', import.meta.url).pathname;

const tenths = decimals(1);

type Row = readonly [name: string, outcome: SandboxStarts | string];

async function measureOne(
  kind: string,
  starts: number,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Row> {
  process.stderr.write(`sandboxes: ${kind} …\n`);
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`--import=${useBuild}`, program, kind, String(starts), ...args],
      { env: { ...process.env, ...env } },
    );
    return [kind, JSON.parse(stdout)];
  } catch (error) {
    return [
      kind,
      String((error as { stderr?: string }).stderr ?? error)
        .trim()
        .split('\n')
        .at(-1) ?? '',
    ];
  }
}

async function measureContainers(lifetime: Lifetime, starts: number): Promise<Row[]> {
  const missing = findMissingEngine();
  if (missing !== false) return [['docker', missing]];
  process.stderr.write('sandboxes: an engine and its image …\n');
  const engine = await startDockerEngine();
  lifetime.atEnd(() => engine.stop());
  await importBase(engine);
  await buildOn(engine, image, {
    from: baseImage,
    files: {},
    lines: ['RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1'],
  });
  const args = [image, String(engine.pid)];
  const env = { DOCKER_HOST: engine.host };
  const rows = [await measureOne('docker', starts, args, env)];
  if (engine.hasGvisor) rows.push(await measureOne('gvisor', starts, args, env));
  return rows;
}

export async function measureSandboxes(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { starts } = plan.sandboxes;
  await prepareProgram();
  const rows = [
    await measureOne('process', starts),
    await measureOne('bubblewrap', starts),
    ...(await measureContainers(lifetime, starts)),
  ];
  const table = {
    title: 'Sandboxes',
    heads: ['sandbox', 'start without network, ms', 'with the bridge, ms', 'memory'],
    rows: rows.map(([name, outcome]) =>
      typeof outcome === 'string'
        ? [name, outcome, '–', '–']
        : [
            name,
            whole(outcome.offlineMs),
            whole(outcome.bridgedMs),
            `${tenths(outcome.residentBytes / 1e6)} MB`,
          ],
    ),
    note: `From the start of a shell to its first output, median of ${starts}. Memory is that of all processes that exist because of one sleeping program with the bridge; memory that processes share is divided among them.`,
  };
  return { tables: [table], figures: [] };
}
