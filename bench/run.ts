// `npm run bench [-- --quick] [--plots FOLDER] [NAME …]`: measures the service and prints Markdown on standard output,
// its progress on standard error; `--only NAME` is the same as NAME. Loopback only, bounded in time, and nothing is left behind.
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/support/postgresServer.ts';
import { measureAcp } from './acp.ts';
import { measureAgent } from './agent.ts';
import { measureAppend } from './append.ts';
import { measureBesidePgbench } from './besidePgbench.ts';
import { measureCluster } from './cluster.ts';
import { measureFairness } from './fairness.ts';
import { createFilledOnce, type FilledOnce } from './filled.ts';
import { measureFlatness } from './flatness.ts';
import { measureGateway } from './gateway.ts';
import { measureConversations, measureSettings } from './http.ts';
import { createLifetime, type Lifetime } from './lifetime.ts';
import { measureList } from './list.ts';
import { measureLongConversation } from './longConversation.ts';
import { describeMachine } from './machine.ts';
import { measureMetrics } from './metrics.ts';
import { measurePage } from './page.ts';
import { measurePartials } from './partials.ts';
import { fullPlan, type Plan, quickPlan } from './plan.ts';
import { type Figure, notMeasured, type PartReport, printFigures, printTable } from './report.ts';
import { measureRuns } from './runs.ts';
import { measureSandboxes } from './sandboxes.ts';
import { measureSettingsWrites } from './settingsWrites.ts';
import { measureStartup } from './startup.ts';
import { measureStore } from './store.ts';
import { measureStreams } from './streams.ts';
import { measureV0Sockets } from './v0Sockets.ts';

interface Shared {
  readonly filledOnce: FilledOnce;
  /** The folder for charts; undefined if none are wanted. */
  readonly plots: string | undefined;
}

interface Part {
  readonly name: string;
  readonly needsPostgres: boolean;
  readonly measure: (lifetime: Lifetime, plan: Plan, shared: Shared) => Promise<PartReport>;
}

const parts: readonly Part[] = [
  { name: 'startup', needsPostgres: false, measure: measureStartup },
  { name: 'settings', needsPostgres: false, measure: measureSettings },
  { name: 'conversations', needsPostgres: true, measure: measureConversations },
  { name: 'pgbench', needsPostgres: true, measure: measureBesidePgbench },
  { name: 'store', needsPostgres: true, measure: measureStore },
  { name: 'settings-writes', needsPostgres: true, measure: measureSettingsWrites },
  { name: 'append', needsPostgres: true, measure: measureAppend },
  {
    name: 'cluster',
    needsPostgres: true,
    measure: (lifetime, plan, { plots }) => measureCluster(lifetime, plan, plots),
  },
  { name: 'streams', needsPostgres: false, measure: measureStreams },
  { name: 'partials', needsPostgres: false, measure: measurePartials },
  { name: 'acp', needsPostgres: false, measure: measureAcp },
  { name: 'v0-sockets', needsPostgres: false, measure: measureV0Sockets },
  {
    name: 'flatness',
    needsPostgres: false,
    measure: (lifetime, plan, { filledOnce }) => measureFlatness(lifetime, plan, filledOnce),
  },
  {
    name: 'list',
    needsPostgres: false,
    measure: (lifetime, plan, { filledOnce }) => measureList(lifetime, plan, filledOnce),
  },
  { name: 'fairness', needsPostgres: true, measure: measureFairness },
  { name: 'runs', needsPostgres: true, measure: measureRuns },
  { name: 'agent', needsPostgres: false, measure: measureAgent },
  { name: 'sandboxes', needsPostgres: false, measure: measureSandboxes },
  { name: 'long-conversation', needsPostgres: false, measure: measureLongConversation },
  { name: 'gateway', needsPostgres: false, measure: measureGateway },
  { name: 'metrics', needsPostgres: true, measure: measureMetrics },
  { name: 'page', needsPostgres: false, measure: measurePage },
];

/** Requirements that other tests prove. */
const elsewhere: readonly Figure[] = [
  notMeasured('Acknowledged work lost by kill -9', 'none', 'proven by npm run test:faults'),
];

function chosenParts(only: readonly string[]): readonly Part[] {
  const unknown = only.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no part ${unknown}; say one of ${parts.map(({ name }) => name).join(', ')}`);
  return only.length === 0 ? parts : parts.filter(({ name }) => only.includes(name));
}

async function run(lifetime: Lifetime): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      plots: { type: 'string' },
    },
  });
  const only = [...values.only, ...positionals];
  const chosen = chosenParts(only);
  const plan = values.quick ? quickPlan : fullPlan;
  process.stdout.write(`## Benchmark${values.quick ? ', quick pass: too short to trust' : ''}\n\n`);
  process.stdout.write(describeMachine());
  if (chosen.some(({ needsPostgres }) => needsPostgres)) {
    process.stderr.write('starting PostgreSQL, fsync on …\n');
    const postgres = await startPostgres({ fsync: true });
    lifetime.atEnd(() => postgres.stop());
    process.env['PARLEY_TEST_POSTGRES'] = postgres.url;
  }
  const shared = { filledOnce: createFilledOnce(plan), plots: values.plots };
  const figures: Figure[] = [];
  for (const { measure } of chosen) {
    const report = await measure(lifetime, plan, shared);
    process.stdout.write(report.tables.map(printTable).join(''));
    figures.push(...report.figures);
  }
  process.stdout.write(printFigures([...figures, ...(only.length === 0 ? elsewhere : [])]));
}

const lifetime = createLifetime();
let exitCode = 0;
try {
  await run(lifetime);
} catch (error) {
  if (!lifetime.isInterrupted()) process.stderr.write(`${(error as Error).stack ?? error}\n`);
  exitCode = 1;
}
await lifetime.end();
// The exit code is explicit, because the PostgreSQL of the tests would end an idle process with 0.
if (!lifetime.isInterrupted()) process.exit(exitCode);
