// Compares requests to the service on PostgreSQL with pgbench, which stores the same rows on the same server, in turns;
// then measures times at half of the highest rate.
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Turn } from './load.ts';
import { loadTarget, mediansOf, runLoad } from './loadProcess.ts';
import { pgbenchFault, runPgbench } from './pgbench.ts';
import { appends, type Comparison, creations } from './pgbenchStatements.ts';
import type { Plan } from './plan.ts';
import { atLeast, atMost, decimals, joinReports, notMeasured, type PartReport, whole } from './report.ts';
import { startService } from './service.ts';
import { median, spread } from './statistics.ts';

const shareTarget = 0.8;
const tailTarget = 5;
/** Rows of a turn of pgbench have numbers of their own. */
const turnNumbers = 1_000_000;

interface Turns {
  readonly ours: readonly Turn[];
  /** Transactions a second. */
  readonly pgbench: readonly number[];
  /** At half of our highest rate. */
  readonly half: readonly Turn[];
}

async function takeTurns(lifetime: Lifetime, plan: Plan, compared: Comparison): Promise<Turns> {
  const { connections, turns, turnMs } = plan.pgbench;
  const storage = await createStorage('postgres');
  const service = await startService(lifetime, storage);
  const targets = [loadTarget(service, await compared.prepare(service, connections))];
  const load = { targets, connections, rounds: 1, roundMs: turnMs, warmupMs: 0, settleMs: plan.settleMs };
  const loadOnce = async (perS?: number) => {
    const [[turn] = []] = await runLoad(lifetime, { ...load, ...(perS === undefined ? {} : { perS }) });
    if (turn === undefined) throw new Error('the load has measured nothing');
    return turn;
  };
  await loadOnce();
  const statement = await compared.statement(storage, connections);
  const ours: Turn[] = [];
  const pgbench: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    ours.push(await loadOnce());
    const first = turn * turnNumbers;
    const seconds = Math.max(1, Math.round(turnMs / 1_000));
    pgbench.push(await runPgbench(lifetime, { storage, statement, first, connections, seconds }));
  }
  const half: Turn[] = [];
  const perS = median(ours.map(({ requestsPerS }) => requestsPerS)) / 2;
  for (let turn = 0; turn < turns; turn++) half.push(await loadOnce(perS));
  await service.stop();
  await storage.remove();
  return { ours, pgbench, half };
}

/** Makes one comparison, and says so if there is no pgbench. */
async function compareWithPgbench(lifetime: Lifetime, plan: Plan, compared: Comparison): Promise<PartReport> {
  const { connections } = plan.pgbench;
  const share = `${compared.name}, PostgreSQL, connections ${connections}: share of pgbench`;
  const tail = `${compared.name}, PostgreSQL, half of the highest rate: p99 to p50`;
  const fault = pgbenchFault();
  if (fault !== undefined)
    return {
      tables: [],
      figures: [notMeasured(share, `≥ ${shareTarget}`, fault), notMeasured(tail, `≤ ${tailTarget}`, fault)],
    };
  process.stderr.write(`${compared.title} …\n`);
  const { ours, pgbench, half } = await takeTurns(lifetime, plan, compared);
  const two = decimals(2);
  const ratios = ours.map((turn, i) => turn.requestsPerS / (pgbench[i] ?? 0));
  const row = (load: string, turns: readonly Turn[]) => {
    const { rate, p50, p99, cpu } = mediansOf(turns);
    return [
      load,
      whole(rate),
      spread(
        turns.map(({ requestsPerS }) => requestsPerS),
        whole,
      ),
      two(p50),
      two(p99),
      decimals(0)(cpu),
    ];
  };
  const rows = [
    row('service', ours),
    ['pgbench', whole(median(pgbench)), spread(pgbench, whole), '–', '–', '–'],
    row('service, half of its rate', half),
  ];
  const { p50, p99 } = mediansOf(half);
  return {
    tables: [
      {
        title: `${compared.title}, ${connections} connections`,
        heads: ['load', 'a second', 'turns', 'p50 ms', 'p99 ms', 'CPU µs'],
        rows,
      },
    ],
    figures: [
      atLeast(share, median(ratios), shareTarget, two),
      atMost(tail, p99 / p50, tailTarget, decimals(1)),
    ],
  };
}

export async function measureBesidePgbench(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  return joinReports([
    await compareWithPgbench(lifetime, plan, creations),
    await compareWithPgbench(lifetime, plan, appends),
  ]);
}
