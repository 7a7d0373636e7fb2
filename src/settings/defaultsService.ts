// Reads and changes the operator's default settings. They are stored like those of a user whom nobody can be.
import type { Database } from '../db/transaction.ts';
import { defaultsName } from '../users/owner.ts';
import { ensureUser, findUser } from '../users/store.ts';
import type { ChangeDefaults, DefaultSettings } from './defaultsSchema.ts';
import { toDefaults } from './defaultsSchema.ts';
import { toFullSettings } from './record.ts';
import type { SettingsChange } from './schema.ts';
import type { Settings } from './service.ts';

interface DefaultsOptions {
  readonly database: Database;
  readonly settings: Settings;
}

export type Defaults = ReturnType<typeof createDefaults>;

const none = { version: 0, document: '{}', secrets: [], operator: null };

export function createDefaults({ database, settings }: DefaultsOptions) {
  async function get(): Promise<DefaultSettings> {
    const stored = await database.run(findUser, defaultsName);
    return toDefaults(stored === undefined ? toFullSettings(none) : await settings.read(stored.id));
  }

  return {
    get,
    /** A merge patch. `by` is the id of the caller's key, for the audit log. */
    update: async (by: string, change: ChangeDefaults): Promise<DefaultSettings> => {
      const { id: userId } = await database.run(ensureUser, defaultsName);
      try {
        await settings.update({ userId, keyId: by }, 'patch', change as SettingsChange);
      } finally {
        settings.forgetAll();
      }
      return get();
    },
  };
}
