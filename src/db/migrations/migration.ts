// What a migration is: statements that are applied once, in the order of the list in ../migrate.ts.
import type { DatabaseKind } from '../transaction.ts';

export interface Migration {
  readonly name: string;
  readonly statements: (kind: DatabaseKind) => readonly string[];
}
