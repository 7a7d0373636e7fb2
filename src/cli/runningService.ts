// Where the service of a data folder listens: it says so in a file there, so that commands find it and send the
// owner's key to nobody else.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../process/privateFiles.ts';

const fileOf = (dataDir: string) => join(dataDir, 'service.url');

function read(dataDir: string): string {
  try {
    return readFileSync(fileOf(dataDir), 'utf8');
  } catch {
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user, but there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** An address to listen on that means all of them is none to go to. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Returns how to take it back, which leaves what another process has said meanwhile. */
export function announceService(dataDir: string, url: string): () => void {
  const text = `${reachable(url)}\n${process.pid}\n`;
  replaceFile(fileOf(dataDir), text);
  return () => {
    if (read(dataDir) === text) rmSync(fileOf(dataDir), { force: true });
  };
}

/** Whoever makes up such a file can lead nobody away from this machine. */
const announcement = /^(http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\]):\d{1,5})\n([1-9]\d{0,9})\n$/;

/** Undefined where none runs, such as after a kill, or none on a loopback address. */
export function findService(dataDir: string): string | undefined {
  const [, url, pid] = announcement.exec(read(dataDir)) ?? [];
  return url !== undefined && isAlive(Number(pid)) ? url : undefined;
}
