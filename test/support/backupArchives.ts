// Builds backups by hand, so that tests can put anything into them.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { constants, zstdCompressSync } from 'node:zlib';
import { type Head, headPath, type Manifest, manifestPath } from '../../src/backups/manifest.ts';
import { paddingOf, type TarEntry, tarEnd, tarHeader } from '../../src/backups/tar.ts';
import { migrations } from '../../src/db/migrate.ts';

export interface Member extends Partial<Omit<TarEntry, 'bytes'>> {
  readonly path: string;
  readonly content?: string;
}

export function memberBytes({ content = '', ...entry }: Member): Buffer {
  const bytes = Buffer.from(content);
  const whole = {
    kind: 'file',
    mode: 0o600,
    modifiedS: 1_700_000_000,
    ...entry,
    bytes: bytes.length,
  } as const;
  return Buffer.concat([tarHeader(whole), bytes, paddingOf(bytes.length)]);
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

const users = [
  { name: 'id', type: 'integer' },
  { name: 'name', type: 'text' },
  { name: 'created_at', type: 'integer' },
] as const;

export interface HandMade {
  readonly head?: Partial<Head>;
  readonly manifest?: Partial<Manifest>;
  /** The rows of the only table, `users`, in files. */
  readonly users?: readonly string[];
  /** Files besides the database. Their hashes are right. */
  readonly members?: readonly Member[];
  /** Added after everything else, where nothing announces it. */
  readonly trailing?: readonly Buffer[];
}

/** A valid backup with one user, except for what is overridden. */
export function tarOf({ head = {}, manifest = {}, trailing = [], ...parts }: HandMade): Buffer {
  const files = parts.users ?? ['[1,"owner",0]\n'];
  const members = parts.members ?? [];
  const lines = files.join('');
  const wholeHead: Head = {
    ...{ format: 'parley-backup', version: 1, parley_version: '0.1.0', database: 'sqlite' },
    created_at: '2026-01-01T00:00:00.000Z',
    migrations: migrations.map(({ name }) => name),
    tables: [{ name: 'users', columns: users.map((column) => ({ ...column })) }],
    ...{ workspaces: true, snapshots: false, keys: false, encryption_key_id: null },
    ...head,
  };
  const byPart = Object.groupBy(members, ({ path }) => path.split('/')[0] ?? '');
  const headText = JSON.stringify(wholeHead);
  const wholeManifest: Manifest = {
    head_sha256: sha256(headText),
    tables: { users: { rows: lines.split('\n').length - 1, sha256: sha256(lines) } },
    last_numbers: { users: 1 },
    files: Object.fromEntries(
      Object.entries(byPart).map(([part, own = []]) => [
        part,
        { entries: own.length, bytes: 0, sha256: sha256(Buffer.concat(own.map(memberBytes))) },
      ]),
    ),
    left_out: { count: 0, paths: [] },
    ...manifest,
  };
  return Buffer.concat([
    memberBytes({ path: headPath, content: headText }),
    ...files.map((content, i) => memberBytes({ path: `database/users/00000${i + 1}.jsonl`, content })),
    ...members.map(memberBytes),
    memberBytes({ path: manifestPath, content: JSON.stringify(wholeManifest) }),
    ...trailing,
    tarEnd,
  ]);
}

/** With a checksum, as in real backups. */
export function compress(bytes: Buffer): Buffer {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
}

export function writeBackup(file: string, made: HandMade): string {
  writeFileSync(file, compress(tarOf(made)));
  return file;
}
