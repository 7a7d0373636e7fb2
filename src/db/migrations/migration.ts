// What a migration is: statements that are applied once, in the order of the list in ../migrate.ts.
import type { DatabaseKind } from '../transaction.ts';

export interface Migration {
  readonly name: string;
  /**
   * An older version goes on working after `expand`, which only adds: tables, indexes, and columns that may be null or have
   * a default. It refuses a database with a `contract` that it does not know. A change that removes or converts something
   * takes two releases: one expands and writes both forms, the next contracts.
   */
  readonly kind: 'expand' | 'contract';
  readonly statements: (kind: DatabaseKind) => readonly string[];
}
