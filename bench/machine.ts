// What the figures were measured on: without it they mean nothing.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './statistics.ts';

const syncs = 50;
const pageBytes = 4_096;
/** Runnable processes of others, per processor, above which rates and times say little. */
const quietLoadMax = 0.25;

/** Milliseconds to bring a page to the disk that the databases are on. */
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

/** What else the machine was doing, and a warning where that spoils the figures. */
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
