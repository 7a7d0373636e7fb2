// Stores which folder of the client's machine a conversation belongs to, so that editors find their conversations again.
import type { Migration } from './migration.ts';

export const clientFolder: Migration = {
  name: '0027-client-folder',
  kind: 'expand',
  statements: () => ['alter table conversations add column client_folder text'],
};
