// The file of encryption keys: 64 hex digits per line, the newest first. More than one line means that a rotation is in
// progress.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RefusalError } from '../errors.ts';
import { createFile, replaceFile } from '../process/durableFiles.ts';

const keyBytes = 32;
const linePattern = /^[0-9a-f]{64}$/i;

export interface KeyFile {
  readonly path: string;
  /** Returns an empty list if there is no file. */
  read(): readonly Buffer[];
  /** Returns false if another process has created the file first; it must be read again then. */
  create(keys: readonly Buffer[]): boolean;
  write(keys: readonly Buffer[]): void;
  /** Keeps only this key, and removes temporary files of killed processes. */
  finish(key: Buffer): void;
  remove(): void;
}

export function createEncryptionKey(): Buffer {
  return randomBytes(keyBytes);
}

function toText(keys: readonly Buffer[]): string {
  return keys.map((key) => `${key.toString('hex')}\n`).join('');
}

export function openKeyFile(dataDir: string): KeyFile {
  const path = join(dataDir, 'secret.key');

  function readText(): string | undefined {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new RefusalError(`The key file ${path} cannot be read: ${(error as Error).message}.`);
    }
  }

  return {
    path,
    read: () => {
      const text = readText();
      if (text === undefined) return [];
      const lines = text.split(/\s+/).filter((line) => line !== '');
      if (lines.length === 0 || !lines.every((line) => linePattern.test(line)))
        throw new RefusalError(
          `The key file ${path} is damaged: each line must be 64 hex digits. Restore it from a backup.`,
        );
      return lines.map((line) => Buffer.from(line, 'hex'));
    },
    create: (keys) => createFile(path, toText(keys)),
    write: (keys) => replaceFile(path, toText(keys)),
    finish: (key) => {
      replaceFile(path, toText([key]));
      for (const name of readdirSync(dataDir))
        if (/^secret\.key\.\d+\.new$/.test(name)) rmSync(join(dataDir, name), { force: true });
    },
    remove: () => rmSync(path, { force: true }),
  };
}
