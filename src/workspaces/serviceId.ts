// Names this service in stores that others may use, too: a database has one for ever.
import { randomBytes } from 'node:crypto';
import type { Database } from '../db/transaction.ts';
import { findFact, keepFact } from '../encryption/store.ts';

const serviceIdFact = 'service-id';
const idBytes = 16;

/** Undefined if nothing has needed it yet. */
export function findServiceId(database: Database): Promise<string | undefined> {
  return database.run(findFact, serviceIdFact);
}

export function keepServiceId(database: Database): Promise<string> {
  const value = randomBytes(idBytes).toString('hex');
  return database.run(keepFact, { name: serviceIdFact, value });
}
