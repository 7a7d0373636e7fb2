// The attributes of a span for a transaction, by the semantic conventions for databases.
import type { SpanAttributes } from './tracing.ts';

const systemNames = { sqlite: 'sqlite', postgres: 'postgresql' } as const;

export function databaseAttributes(kind: keyof typeof systemNames, transaction: string): SpanAttributes {
  return { 'db.system.name': systemNames[kind], 'db.operation.name': transaction };
}
