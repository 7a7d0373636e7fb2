// Renders deploy/chart for tests. Debian has no Helm, so a small program does what Helm does, with the same template engine
// and functions. Where there is a Helm, a test compares the two.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Value } from 'typebox/value';
import type { KubernetesObject } from './kubernetesApi.ts';
import { clusterCache } from './kubernetesCluster.ts';
import { projectDir } from './program.ts';

export const chartFolder = join(projectDir, 'deploy/chart');
const source = join(projectDir, 'test/kubernetes/chart/render.go');
/** Where Debian installs the sources of Go libraries. */
const goPath = '/usr/share/gocode';
const libraries = {
  'github.com/Masterminds/sprig': 'golang-github-masterminds-sprig-dev',
  'sigs.k8s.io/yaml': 'golang-k8s-sigs-yaml-dev',
};
const outputBytesMax = 16_000_000;

export type Values = Readonly<Record<string, unknown>>;

export interface ChartRequest {
  readonly values: Values;
  readonly release: string;
  readonly namespace: string;
  /** What the API server has, such as policy/v1/PodDisruptionBudget. */
  readonly apiVersions?: readonly string[];
}

export interface RenderedChart {
  readonly objects: readonly KubernetesObject<unknown, Record<string, unknown>>[];
  readonly notes: string;
}

/** The reason to skip tests that render the chart, or false. */
export function findMissingRenderer(): string | false {
  const packages = Object.entries(libraries)
    .filter(([library]) => !existsSync(join(goPath, 'src', library)))
    .map(([, name]) => name);
  if (spawnSync('go', ['version']).status !== 0) packages.push('golang-go');
  return packages.length > 0 && `not installed: ${packages.join(' ')}`;
}

/** Builds the program once for each version of its source. */
function renderer(): string {
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12);
  const file = join(clusterCache, `render-${hash}`);
  if (existsSync(file)) return file;
  mkdirSync(clusterCache, { recursive: true });
  const partial = `${file}.${process.pid}`;
  const env = {
    ...process.env,
    GO111MODULE: 'off',
    GOPATH: goPath,
    GOFLAGS: '',
    GOCACHE: join(clusterCache, 'go-build'),
  };
  execFileSync('go', ['build', '-o', partial, source], { env, stdio: ['ignore', 'inherit', 'pipe'] });
  renameSync(partial, file);
  return file;
}

const schema = () => JSON.parse(readFileSync(join(chartFolder, 'values.schema.json'), 'utf8'));

/** Throws what Helm would say: the first value that the schema refuses, or the error of a template. */
export async function renderChart(request: ChartRequest): Promise<RenderedChart> {
  const { values, release, namespace, apiVersions = [] } = request;
  const running = promisify(execFile)(renderer(), { maxBuffer: outputBytesMax });
  running.child.stdin?.end(
    JSON.stringify({
      Chart: chartFolder,
      Values: values,
      Release: release,
      Namespace: namespace,
      APIVersions: apiVersions,
    }),
  );
  const { values: merged, ...rendered } = JSON.parse((await running).stdout) as RenderedChart & {
    values: Values;
  };
  const [fault] = Value.Errors(schema(), merged);
  if (fault !== undefined) throw new Error(`${fault.instancePath} ${fault.message}`);
  return rendered;
}

/** The command of a Helm to compare with, if there is one: `PARLEY_TEST_HELM`, otherwise `helm` in PATH. */
export function findHelm(): readonly string[] | undefined {
  const words = process.env['PARLEY_TEST_HELM']?.split(' ') ?? ['helm'];
  const [program = '', ...args] = words;
  return spawnSync(program, [...args, 'version']).status === 0 ? words : undefined;
}
