// Where an import stores what it has read: through the services of this server, or nowhere in a dry run.
import { setImmediate } from 'node:timers/promises';
import type { ImportedConversation, ImportOutcome, Imports } from '../../conversations/import/service.ts';
import { AppError } from '../../errors.ts';
import type { Secrets } from '../../secrets/service.ts';
import type { Settings, Writer } from '../../settings/service.ts';
import type { SettingsRows } from '../../settings/store.ts';
import type { Records } from './records.ts';
import type { Skipped } from './report.ts';

/** One user of this server. */
export interface ImportTarget {
  /** Removes what an interrupted import has left. */
  prepare(): Promise<void>;
  settings(): Promise<SettingsRows>;
  /** Returns what the services refused. */
  storeRecords(records: Records): Promise<readonly Skipped[]>;
  /** Undefined if the conversation is to be imported. */
  find(id: string): Promise<'exists' | 'taken' | undefined>;
  storeConversation(id: string, conversation: ImportedConversation): Promise<ImportOutcome>;
}

interface TargetOptions {
  readonly writer: Writer;
  readonly settings: Settings;
  readonly secrets: Secrets;
  readonly imports: Imports;
  readonly rows: (userId: number) => Promise<SettingsRows>;
}

/** Messages of `AppError` are for users, and never quote a value. Other errors end the import. */
async function attempt(path: string, store: () => Promise<void>): Promise<Skipped[]> {
  try {
    await store();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ path, reason: `was refused: ${error.details?.[0]?.message ?? error.message}` }];
  }
}

export function createTarget({ writer, settings, secrets, imports, rows }: TargetOptions): ImportTarget {
  const { userId } = writer;
  return {
    prepare: () => imports.discardUnfinished(userId),
    settings: () => rows(userId),
    find: (id) => imports.find({ userId, id }),
    storeConversation: (id, conversation) => imports.store({ userId, id }, conversation),
    storeRecords: async (records) => {
      const refused = await attempt('settings', () => settings.update(writer, 'post', records.settings));
      if (Object.keys(records.providers).length > 0)
        refused.push(
          ...(await attempt('provider_tokens', () =>
            secrets.addGitProviders(writer, { provider_tokens: records.providers }),
          )),
        );
      for (const secret of records.secrets)
        refused.push(
          ...(await attempt(`custom_secrets.${secret.name}`, () => secrets.replace(writer, secret))),
        );
      return refused;
    },
  };
}

/** Reads everything and stores nothing. Without `existing`, the user has nothing yet. */
export function createDryTarget(existing: Pick<ImportTarget, 'settings' | 'find'> | undefined): ImportTarget {
  return {
    prepare: async () => {},
    settings:
      existing?.settings ?? (async () => ({ version: 0, document: '{}', secrets: [], operator: null })),
    find: existing?.find ?? (async () => undefined),
    storeRecords: async () => [],
    storeConversation: async (_, { pieces, describe }) => {
      // Lets signals and the progress bar through.
      for (const _piece of pieces) await setImmediate();
      describe();
      return 'imported';
    },
  };
}
