// The charts of the cluster benchmark.
import { type BarChart, drawBars } from './barChart.ts';
import { operations } from './clusterLoad.ts';
import { type ClusterResult, growthOf, type OperationResult } from './clusterReport.ts';
import { slowdownTarget } from './flatness.ts';
import type { Plan } from './plan.ts';
import { decimals, whole } from './report.ts';

const processName = (processes: number) => (processes === 1 ? '1 process' : `${processes} processes`);

/** A group for each operation in the large database, a bar for each number of processes. */
function byProcesses(
  results: readonly OperationResult[],
  { large }: Plan['cluster'],
  barOf: (result: OperationResult) => { parts: readonly number[]; label: string },
): BarChart['groups'] {
  return operations.map(({ name }) => ({
    name,
    bars: results
      .filter(({ operation, conversations }) => operation === name && conversations === large.conversations)
      .map((result) => ({ name: processName(result.processes), ...barOf(result) })),
  }));
}

/** Returns SVG files by name. */
export function clusterCharts(
  { operations: results, streams }: ClusterResult,
  plan: Plan['cluster'],
): Readonly<Record<string, string>> {
  const { small, large, streams: audience } = plan;
  const one = decimals(1);
  const two = decimals(2);
  const amount = `${whole(large.conversations)} conversations`;
  return {
    'cluster-rates': drawBars({
      title: `Requests a second, ${amount}, all on the cores of one machine`,
      groups: byProcesses(results, plan, ({ full }) => ({ parts: [full.rate], label: whole(full.rate) })),
      legend: [],
    }),
    'cluster-cpu': drawBars({
      title: `CPU time of a request, µs, ${amount}`,
      groups: byProcesses(results, plan, ({ full }) => ({
        parts: [full.cpu, full.postgresUs],
        label: `${whole(full.cpu)} + ${whole(full.postgresUs)}`,
      })),
      legend: ['service', 'PostgreSQL'],
    }),
    'cluster-times': drawBars({
      title: `p50 and p99 at half of the highest rate, ms, ${amount}`,
      groups: byProcesses(results, plan, ({ half }) => ({
        parts: [half.p50, half.p99 - half.p50],
        label: `${one(half.p50)} / ${one(half.p99)}`,
      })),
      legend: ['p50', 'p99'],
    }),
    'cluster-growth': drawBars({
      title: `Time of a request with ${amount}, to ${whole(small.conversations)}`,
      groups: operations.map(({ name }) => {
        const growth = growthOf(results, name);
        return { name, bars: [{ name: '1 process', parts: [growth], label: two(growth) }] };
      }),
      legend: [],
      mark: { value: slowdownTarget, label: `limit ${slowdownTarget}` },
    }),
    'cluster-streams': drawBars({
      title: `A message reaches ${whole(audience.readers)} streams of ${whole(audience.conversations)} conversations, ms`,
      groups: [
        {
          name: amount,
          bars: streams
            .filter(({ conversations }) => conversations === large.conversations)
            .map(({ processes, result: { fromSend } }) => ({
              name: processName(processes),
              parts: [fromSend.p50Ms, fromSend.p99Ms - fromSend.p50Ms],
              label: `${one(fromSend.p50Ms)} / ${one(fromSend.p99Ms)}`,
            })),
        },
      ],
      legend: ['p50', 'p99'],
    }),
  };
}
