// Describes the machine, without which the figures mean nothing.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './statistics.ts';

const syncs = 50;
const pageBytes = 4_096;
/** With more runnable processes of others per CPU, rates and times mean little. */
const quietLoadMax = 0.25;

/** Milliseconds to write a page durably to the disk of the databases. */
function syncMs(): number {
  const fd = openSync(join(tmpdir(), 'sync-probe'), 'w');
  const page = Buffer.alloc(pageBytes, 1);
  const times = Array.from({ length: syncs }, () => {
    writeSync(fd, page);
    const begin = performance.now();
    fdatasyncSync(fd);
    return performance.now() - begin;
  });
  closeSync(fd);
  return median(times);
}

/** Reports the other load of the machine, with a warning if it distorts the figures. */
function describeLoad(): string {
  const [lastMinute = 0] = loadavg();
  const busy = lastMinute > quietLoadMax * availableParallelism();
  return `Load before the run: ${lastMinute.toFixed(2)}${busy ? ' (**busy with other work: do not trust rates and times**)' : ''}`;
}

export function describeMachine(): string {
  const lines = [
    `Date: ${new Date().toISOString()}`,
    `CPU: ${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    `Memory: ${Math.round(totalmem() / 1e9)} GB`,
    `Node: ${process.version}, ${process.platform} ${process.arch}`,
    `Disk: ${syncMs().toFixed(2)} ms to sync a page, median of ${syncs}`,
    describeLoad(),
  ];
  return lines.map((line) => `- ${line}\n`).join('');
}
