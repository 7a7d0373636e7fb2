// Kysely as builder and compiler only: the engines send the compiled text themselves.
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Tables } from './tables.ts';
import type { Queries } from './transaction.ts';

export function createSqliteQueries(): Queries {
  return {
    kind: 'sqlite',
    build: new Kysely<Tables>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    }),
    now: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  };
}

export function createPostgresQueries(): Queries {
  return {
    kind: 'postgres',
    build: new Kysely<Tables>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    }),
    now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
  };
}
