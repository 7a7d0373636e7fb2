// Writes the parts of a backup as one tar stream, and counts and hashes what it writes.
import { createHash, type Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { activeKeyFact } from '../encryption/store.ts';
import { version } from '../process/version.ts';
import { dataFiles, type FilePart, fileParts, type Tree } from './contents.ts';
import {
  format,
  formatVersion,
  type Head,
  headPath,
  type Manifest,
  manifestPath,
  tablePrefix,
} from './manifest.ts';
import { readTree } from './readTree.ts';
import type { DatabaseSource } from './sources/source.ts';
import { keptTables, numbered, type TableColumns, type TableName } from './tables.ts';
import { paddingOf, tarEnd, tarHeader } from './tar.ts';

/** How much of a table one file of the archive holds, because the size of a file comes before its content. */
const memberChars = 4 * 1_048_576;
const leftOutShown = 1_000;
const privateMode = 0o600;

export interface Progress {
  readonly rows: number;
  readonly files: number;
  /** Before compression. */
  readonly bytes: number;
}

export interface ArchiveOptions {
  readonly source: DatabaseSource;
  readonly dataDir: string;
  readonly trees: Readonly<Partial<Record<FilePart, readonly Tree[]>>>;
  /** The contents of key files by name; none if the keys stay out. */
  readonly keys: ReadonlyMap<string, string>;
  readonly workspaces: boolean;
  readonly snapshots: boolean;
  readonly nowMs: number;
  readonly onProgress: (progress: Progress) => void;
}

export interface Archive {
  readonly head: Head;
  readonly bytes: AsyncGenerator<Buffer>;
  /** Complete after the last byte was read. */
  readonly manifest: Manifest;
}

function member(path: string, content: Buffer, nowMs: number): Buffer[] {
  const modifiedS = Math.floor(nowMs / 1_000);
  const entry = { path, kind: 'file', bytes: content.length, mode: privateMode, modifiedS } as const;
  return [tarHeader(entry), content, paddingOf(content.length)];
}

async function createHead(options: ArchiveOptions, tables: readonly TableColumns[]): Promise<Head> {
  const { source, workspaces, snapshots, keys, nowMs } = options;
  return {
    format,
    version: formatVersion,
    created_at: new Date(nowMs).toISOString(),
    parley_version: version,
    database: source.kind,
    migrations: [...source.migrations],
    tables: tables.map(({ name, columns }) => ({ name, columns: columns.map((column) => ({ ...column })) })),
    workspaces,
    snapshots,
    keys: keys.size > 0,
    encryption_key_id: (await source.findFact(activeKeyFact)) ?? null,
  };
}

async function findTables(source: DatabaseSource, withFiles: boolean): Promise<TableColumns[]> {
  const found: TableColumns[] = [];
  for (const name of keptTables(withFiles)) {
    const columns = await source.columnsOf(name);
    if (columns !== undefined) found.push({ name, columns });
  }
  return found;
}

/** The contents of these files of a folder, as far as they exist. */
export function readNamed(folder: string, names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of names)
    try {
      found.set(name, readFileSync(join(folder, name), 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  return found;
}

/** Nothing is read before the bytes are, except for the schema. */
export async function createArchive(options: ArchiveOptions): Promise<Archive> {
  const { source, dataDir, trees, keys, nowMs, onProgress } = options;
  const tables = await findTables(source, options.workspaces);
  const head = await createHead(options, tables);
  const headBytes = Buffer.from(JSON.stringify(head));
  const manifest = {
    head_sha256: createHash('sha256').update(headBytes).digest('hex'),
    tables: {} as Manifest['tables'],
    last_numbers: {} as Manifest['last_numbers'],
    files: {} as Manifest['files'],
    left_out: { count: 0, paths: [] as string[] },
  } satisfies Manifest;
  const done = { rows: 0, files: 0, bytes: 0 };

  function onLeftOut(path: string, why: string): void {
    manifest.left_out.count += 1;
    if (manifest.left_out.paths.length < leftOutShown) manifest.left_out.paths.push(`${path}: ${why}`);
  }

  async function* tableBytes({ name, columns }: TableColumns): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let [lines, rows, number] = ['', 0, 0];
    function* flush(): Generator<Buffer> {
      if (lines === '') return;
      const content = Buffer.from(lines);
      hash.update(content);
      done.bytes += content.length;
      number += 1;
      yield* member(`${tablePrefix}${name}/${String(number).padStart(6, '0')}.jsonl`, content, nowMs);
      lines = '';
      onProgress(done);
    }
    for await (const piece of source.read(name as TableName, columns)) {
      lines += piece.lines;
      rows += piece.rows;
      done.rows += piece.rows;
      if (lines.length >= memberChars) yield* flush();
    }
    yield* flush();
    manifest.tables[name] = { rows, sha256: hash.digest('hex') };
  }

  function* hashed(hash: Hash, pieces: Iterable<Buffer>): Generator<Buffer> {
    for (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  }

  function* partBytes(part: FilePart): Generator<Buffer> {
    const hash = createHash('sha256');
    const counted = { entries: 0, bytes: 0 };
    const onEntry = (bytes: number) => {
      counted.entries += 1;
      counted.bytes += bytes;
      done.files += 1;
      done.bytes += bytes;
      onProgress(done);
    };
    for (const { root, path, ...limits } of trees[part] ?? [])
      yield* hashed(hash, readTree(root, path, { ...limits, onLeftOut, onEntry }));
    for (const [name, text] of smallFiles(part)) {
      const content = Buffer.from(text);
      yield* hashed(hash, member(`${part}/${name}`, content, nowMs));
      onEntry(content.length);
    }
    if (counted.entries > 0) manifest.files[part] = { ...counted, sha256: hash.digest('hex') };
  }

  function smallFiles(part: FilePart): ReadonlyMap<string, string> {
    if (part === 'keys') return keys;
    // Without the workspaces, a restored machine is not the one that has them.
    const names = dataFiles.filter((name) => options.workspaces || name !== 'node.id');
    return part === 'data' ? readNamed(dataDir, names) : new Map();
  }

  async function* bytes(): AsyncGenerator<Buffer> {
    yield* member(headPath, headBytes, nowMs);
    for (const table of tables) yield* tableBytes(table);
    for (const [table, column] of Object.entries(numbered))
      manifest.last_numbers[table] = await source.lastNumberOf(table as TableName, column);
    // The rest is read from the disk, so the transaction need not stay open.
    await source.close();
    for (const part of fileParts) yield* partBytes(part);
    yield* member(manifestPath, Buffer.from(JSON.stringify(manifest)), nowMs);
    yield tarEnd;
  }

  return { head, bytes: bytes(), manifest };
}
