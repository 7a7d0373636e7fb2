// Searches for leaked secrets in processes, files, and any text.
import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The contents of /proc files of each process that this one has started. */
export function descendants(file: 'environ' | 'cmdline'): string[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)))
    try {
      const [, parent = ''] = /\) \w (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      parents.set(Number(name), Number(parent));
    } catch {
      // It has ended.
    }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  return [...parents.keys()].filter(isOurs).flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/${file}`, 'utf8')];
    } catch {
      return [];
    }
  });
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return lstatSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

export function assertWithout(words: Iterable<string>, where: string, text: string | Buffer): void {
  for (const word of words) assert.ok(!text.includes(word), `${where}: ${word} is in it`);
}
