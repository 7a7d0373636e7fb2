// The first and the last file of a backup: what it holds, and what the reader must find in it.

import type { TSchema } from 'typebox';
import { type Static, Type } from 'typebox';
import { compileCheck } from '../validation/validation.ts';
import { badArchive } from './tar.ts';

export const format = 'parley-backup';
/** Increased when older versions could not read it correctly. */
export const formatVersion = 1;

export const headPath = 'head.json';
export const manifestPath = 'manifest.json';
export const tablePrefix = 'database/';

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Count = Type.Integer({ minimum: 0 });
const Name = Type.String({ pattern: '^[a-z_]{1,63}$' });

export const Head = Type.Object({
  format: Type.Literal(format),
  version: Type.Literal(formatVersion),
  created_at: Type.String({ maxLength: 40 }),
  parley_version: Type.String({ maxLength: 64 }),
  database: Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')]),
  migrations: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 10_000 }),
  tables: Type.Array(
    Type.Object({
      name: Name,
      columns: Type.Array(
        Type.Object({ name: Name, type: Type.Union([Type.Literal('integer'), Type.Literal('text')]) }),
        { minItems: 1, maxItems: 1_000 },
      ),
    }),
    { maxItems: 1_000 },
  ),
  workspaces: Type.Boolean(),
  snapshots: Type.Boolean(),
  keys: Type.Boolean(),
  /** The id of the key that encrypts the secrets; null if the service has never been started. */
  encryption_key_id: Type.Union([Type.String({ maxLength: 64 }), Type.Null()]),
});
export type Head = Static<typeof Head>;

export const Manifest = Type.Object({
  head_sha256: Sha256,
  tables: Type.Record(Name, Type.Object({ rows: Count, sha256: Sha256 })),
  /** The highest number that the database has given to rows of a table. */
  last_numbers: Type.Record(Name, Count),
  files: Type.Record(Name, Type.Object({ entries: Count, bytes: Count, sha256: Sha256 })),
  left_out: Type.Object({ count: Count, paths: Type.Array(Type.String()) }),
});
export type Manifest = Static<typeof Manifest>;

const checkHead = compileCheck(Head);
const checkManifest = compileCheck(Manifest);

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badArchive(`${what} is not JSON`);
  }
}

function accept<Schema extends TSchema>(
  value: unknown,
  check: ReturnType<typeof compileCheck>,
  what: string,
): Static<Schema> {
  const fault = check(value)?.details?.[0];
  if (fault !== undefined) throw badArchive(`${what} is wrong: ${fault.path} ${fault.message}`);
  return value as Static<Schema>;
}

export function parseHead(text: string): Head {
  const value = parse(text, headPath);
  const { format: found, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (found === format && typeof version === 'number' && version > formatVersion)
    throw badArchive('it was made by a newer version of Parley, which is needed to read it');
  return accept<typeof Head>(value, checkHead, headPath);
}

export function parseManifest(text: string): Manifest {
  return accept<typeof Manifest>(parse(text, manifestPath), checkManifest, manifestPath);
}
