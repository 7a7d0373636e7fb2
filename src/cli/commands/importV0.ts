// `parley import v0`.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { createImports } from '../../conversations/import/service.ts';
import type { Database } from '../../db/transaction.ts';
import { openVault } from '../../encryption/vault.ts';
import { RefusalError } from '../../errors.ts';
import { dependsOnUsers } from '../../outgoing/privateAddresses.ts';
import { createSecrets } from '../../secrets/service.ts';
import { createSettings } from '../../settings/service.ts';
import { findSettings } from '../../settings/store.ts';
import { ownerName } from '../../users/owner.ts';
import { UserName } from '../../users/schema.ts';
import { ensureUser, findUser, hasOneUser } from '../../users/store.ts';
import { importFileStore } from '../../v0/import/importer.ts';
import type { ImportReport } from '../../v0/import/report.ts';
import { openSourceFolder } from '../../v0/import/sourceFolder.ts';
import { type FoundUsers, findUsers } from '../../v0/import/sourceUsers.ts';
import { createDryTarget, createTarget, type ImportTarget } from '../../v0/import/target.ts';
import { compileCheck } from '../../validation/validation.ts';
import { agentNamesIn, commandLine, withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { importV0Command } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { printImportReport } from '../terminal/importReport.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput } from '../terminal/output.ts';
import { createProgressBar } from '../terminal/progressBar.ts';
import { secondUserNote } from '../terminal/secondUser.ts';

type OpenTarget = (user: string) => Promise<ImportTarget>;

function openFolder(folder: string): string {
  try {
    const real = realpathSync(folder);
    if (statSync(real).isDirectory()) return real;
  } catch {
    // The message below is the same for a missing folder and for one that cannot be read.
  }
  throw new RefusalError('The folder to import does not exist or cannot be read.');
}

function findSource(folder: string, user: string | undefined): FoundUsers {
  const [fault] = user === undefined ? [] : (compileCheck(UserName)(user)?.details ?? []);
  if (fault !== undefined) throw new RefusalError(`--user ${fault.message}.`);
  const found = findUsers(openSourceFolder(folder), ownerName, user);
  if (found.users.length === 0 && found.skipped.length === 0)
    throw new RefusalError(
      'This is not the file store of a V0 server: it has no settings.json, secrets.json, sessions or users. It is usually ~/.openhands.',
    );
  const others = found.users.filter((one) => one.folder.path !== '');
  if (user !== undefined && others.length > 1)
    throw new RefusalError(
      `The folder has ${others.length} users, so --user is ambiguous. Leave it out, or import each of users/ID alone.`,
    );
  return found;
}

/** Opens users of the database. The owner comes first, as at the first start of a service. */
async function openTargets(database: Database, config: Config, dryRun: boolean): Promise<OpenTarget> {
  const vault = await openVault({ database, ...config });
  const settings = createSettings({ database, vault, agentNames: () => agentNamesIn(config) });
  const services = {
    settings,
    secrets: createSecrets({ settings }),
    imports: createImports({ database, vault }),
  };
  const rows = (userId: number) => database.run(findSettings, userId);
  if (!dryRun) await database.run(ensureUser, ownerName);
  return async (name) => {
    const user = await database.run(dryRun ? findUser : ensureUser, name);
    const target =
      user && createTarget({ ...services, rows, writer: { userId: user.id, keyId: commandLine } });
    return dryRun || target === undefined ? createDryTarget(target) : target;
  };
}

/** A dry run does not create the file of a database. */
async function withTargets(
  dryRun: boolean,
  work: (open: OpenTarget) => Promise<ImportReport>,
): Promise<{ readonly report: ImportReport; readonly turnsOffPrivate: boolean }> {
  const { databaseUrl, dataDir } = readCommandConfig();
  if (dryRun && databaseUrl === undefined && !existsSync(join(dataDir, 'parley.db')))
    return { report: await work(async () => createDryTarget(undefined)), turnsOffPrivate: false };
  return withDatabase(
    async (database, config) => {
      const open = await openTargets(database, config, dryRun);
      const wasAlone = await database.run(hasOneUser, null);
      const report = await work(open);
      const isSecond = wasAlone && !(await database.run(hasOneUser, null));
      return { report, turnsOffPrivate: isSecond && dependsOnUsers(config) };
    },
    { mayCreate: !dryRun },
  );
}

export const importV0: Handler<typeof importV0Command> = async ({ args, options }) => {
  const folder = openFolder(args.folder);
  const dryRun = options['dry-run'];
  const found = findSource(folder, options.user);
  const output = createOutput(options);
  const bar = createProgressBar(output.isJson);
  const number = (value: number) => value.toLocaleString('en');

  return untilInterrupted(['SIGINT', 'SIGTERM'], async (signal) => {
    const { report, turnsOffPrivate } = await withTargets(dryRun, (openTarget) =>
      importFileStore({
        ...{ found, folder, dryRun, openTarget, signal, nowMs: Date.now() },
        agentNames: agentNamesIn(readCommandConfig()),
        onProgress: ({ done, total, events }) =>
          bar.show(
            done,
            total,
            `${number(done)} of ${number(total)} conversations, ${number(events)} events`,
          ),
      }),
    ).finally(bar.end);
    printImportReport(output, report);
    if (turnsOffPrivate) output.note(secondUserNote);
    if (report.interrupted) {
      output.note('Interrupted. Run the same command again to continue.\n');
      return exitOfSignal(signal.reason as NodeJS.Signals);
    }
    return report.incomplete ? exits.failed : exits.done;
  });
};
