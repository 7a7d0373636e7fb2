// The service writes its URL into a file in its data folder, so that commands find it and send the owner's API key to
// no other service.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../../process/alive.ts';
import { replaceFile } from '../../process/durableFiles.ts';

const fileOf = (dataDir: string) => join(dataDir, 'service.url');

function read(dataDir: string): string {
  try {
    return readFileSync(fileOf(dataDir), 'utf8');
  } catch {
    return '';
  }
}

/** A service that listens on all addresses is reached at the loopback address. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Returns a function that removes the file, unless another process has replaced it. */
export function announceService(dataDir: string, url: string): () => void {
  const text = `${reachable(url)}\n${process.pid}\n`;
  replaceFile(fileOf(dataDir), text);
  return () => {
    if (read(dataDir) === text) rmSync(fileOf(dataDir), { force: true });
  };
}

/** Only URLs of this machine count, so that a forged file cannot lead anybody to another one. */
const announcement = /^(http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\]):\d{1,5})\n([1-9]\d{0,9})\n$/;

/** Undefined if no service runs there, such as after a kill, or if it does not listen on a loopback address. */
export function findServiceProcess(
  dataDir: string,
): { readonly url: string; readonly pid: number } | undefined {
  const [, url, pid] = announcement.exec(read(dataDir)) ?? [];
  return url !== undefined && isAlive(Number(pid)) ? { url, pid: Number(pid) } : undefined;
}

export function findService(dataDir: string): string | undefined {
  return findServiceProcess(dataDir)?.url;
}
