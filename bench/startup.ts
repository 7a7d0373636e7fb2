// Measures how soon the service is ready on an existing database, and its memory when idle and after a load.
import { setTimeout as sleep } from 'node:timers/promises';
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import { loadTarget, runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { residentBytes } from './processes.ts';
import { atMost, megabytes, type PartReport, whole } from './report.ts';
import { getFull, postConversation, sendOnce } from './requests.ts';
import { type Service, startService } from './service.ts';
import { median, spread } from './statistics.ts';

const readyMsTarget = 500;
const idleBytesTarget = 120e6;
/** Long enough for the service to have settled. */
const idleMs = 5_000;
const connections = 64;

async function loadOnce(lifetime: Lifetime, plan: Plan, service: Service): Promise<void> {
  const targets = [getFull, postConversation].map((ask) => loadTarget(service, [ask]));
  const { roundMs, warmupMs } = plan;
  await runLoad(lifetime, { targets, connections, rounds: 1, roundMs, warmupMs, settleMs: 0 });
}

export async function measureStartup(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  process.stderr.write(`start and memory, ${plan.starts} starts …\n`);
  const storage = await createStorage('sqlite');
  let service = await startService(lifetime, storage);
  await sendOnce(service.url, postConversation);
  const readyMs: number[] = [];
  for (let start = 0; start < plan.starts; start++) {
    await service.stop();
    service = await startService(lifetime, storage, { PARLEY_ROLE: 'all' });
    readyMs.push(service.readyMs);
  }
  await sleep(idleMs);
  const idle = residentBytes(service.pid);
  await loadOnce(lifetime, plan, service);
  const afterLoad = residentBytes(service.pid);
  await service.stop();
  await storage.remove();

  const ms = (value: number) => `${whole(value)} ms`;
  const ready = atMost('Ready after the start, existing database', median(readyMs), readyMsTarget, ms);
  const memory = atMost('Idle memory', idle, idleBytesTarget, megabytes);
  const rows = [
    [ready.name, ready.measured, spread(readyMs, ms), ready.target, ready.verdict],
    [memory.name, memory.measured, '–', memory.target, memory.verdict],
    [`Memory after GET and POST at ${connections} connections`, megabytes(afterLoad), '–', '–', '–'],
  ];
  const heads = ['what', 'median', 'range', 'target', 'verdict'];
  return { tables: [{ title: 'Start and memory', heads, rows }], figures: [ready, memory] };
}
