// Imports the file store of a V0 server: user by user the settings and secrets, then the conversations. One that cannot
// be imported is reported and does not affect the others.
import { join } from 'node:path';
import { isConversationId } from '../../conversations/id.ts';
import { AppError } from '../../errors.ts';
import { isObject } from '../../text/foreignText.ts';
import { mib } from '../../validation/schema.ts';
import { readConversation } from './conversation.ts';
import { readForeign } from './foreignFile.ts';
import { planRecords } from './records.ts';
import {
  createReport,
  type ImportReport,
  reportMissing,
  reportSkipped,
  reportUser,
  type UserReport,
} from './report.ts';
import { translateSettings } from './settingsFile.ts';
import { isFault, type SourceEntry, type SourceFolder } from './sourceFolder.ts';
import {
  conversationFolders,
  entryFault,
  type FoundUsers,
  type SourceUser,
  settingsFiles,
} from './sourceUsers.ts';
import type { ImportTarget } from './target.ts';

const settingsBytesMax = 8 * mib;

export interface ImportProgress {
  readonly done: number;
  readonly total: number;
  readonly events: number;
}

interface ImportOptions {
  readonly found: FoundUsers;
  readonly folder: string;
  readonly dryRun: boolean;
  readonly openTarget: (user: string) => Promise<ImportTarget>;
  readonly onProgress: (progress: ImportProgress) => void;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  /** The values that `agent` in the settings may have. */
  readonly agentNames: readonly string[];
}

/** The import of one user. */
interface UserImport {
  readonly target: ImportTarget;
  readonly source: SourceUser;
  readonly report: ImportReport;
  readonly counts: UserReport;
  readonly nowMs: number;
  readonly agentNames: readonly string[];
  /** Throws `Interrupted` if the import must end. */
  readonly onEvents: (count: number) => void;
  readonly onConversation: () => void;
}

class Interrupted extends Error {}

/** Files and hidden names between the folders of conversations are none of the old server's. */
function* conversationEntries({ folder }: SourceUser): Generator<[SourceFolder, SourceEntry], void> {
  for (const name of conversationFolders) {
    const kind = folder.kind(name);
    const parent = folder.folder(name);
    // A link to the conversations counts as one that is skipped.
    if (kind !== undefined && parent === undefined) yield [folder, { name, kind }];
    for (const entry of parent?.entries() ?? [])
      if (parent !== undefined && entry.kind !== 'file' && !entry.name.startsWith('.')) yield [parent, entry];
  }
}

function countConversations(users: readonly SourceUser[]): number {
  let count = 0;
  for (const user of users) for (const _ of conversationEntries(user)) count += 1;
  return count;
}

async function importSettingsFile(
  { target, source, report, counts, agentNames }: UserImport,
  file: string,
): Promise<void> {
  const read = readForeign(source.folder, file, settingsBytesMax);
  if (read === undefined) return;
  const path = join(source.folder.path, file);
  if (isFault(read) || !isObject(read.value))
    return reportMissing(report, path, isFault(read) ? read.fault : 'is not an object');
  const plan = planRecords(translateSettings(read.value), await target.settings(), agentNames);
  const refused = await target.storeRecords(plan);
  for (const { path: name, reason } of [...plan.skipped, ...refused])
    reportSkipped(report, `${path}: ${name}`, reason);
  if (plan.kept.length > 0)
    reportSkipped(report, path, `has values that are set in Parley already: ${plan.kept.join(', ')}`);
  const isStored = (name: string) => !refused.some((one) => one.path === name);
  const secrets = plan.secrets.map(({ name }) => name);
  if (isStored('settings')) counts.settings.push(...Object.keys(plan.settings));
  if (isStored('provider_tokens')) counts.provider_tokens.push(...Object.keys(plan.providers));
  counts.secrets.push(...secrets.filter((name) => isStored(`custom_secrets.${name}`)));
}

const reasons: Readonly<Record<string, string>> = {
  taken: 'is not imported, because another conversation has this id',
  discarded: 'was not stored completely, because another import was started',
};

/** Returns `imported`, `exists`, or why the conversation is skipped. */
async function importConversation(job: UserImport, folder: SourceFolder, id: string): Promise<string> {
  const { target, report, counts, nowMs, onEvents } = job;
  if (!isConversationId(id)) return 'cannot be the id of a conversation';
  const known = await target.find(id);
  if (known !== undefined) return known;
  const conversation = readConversation(folder, id, { nowMs, onPiece: onEvents });
  if (isFault(conversation)) return conversation.fault;
  const outcome = await target.storeConversation(id, conversation);
  if (outcome !== 'imported') return outcome;
  const { events, lost } = conversation.counts();
  counts.events.imported += events;
  counts.events.skipped += lost;
  const first = conversation.firstLost();
  if (first !== undefined)
    reportSkipped(report, folder.path, `lacks ${lost} of its events: ${first.path} ${first.fault}`);
  return outcome;
}

/** A conversation that fails in an unforeseen way is skipped, unless the database itself is at fault. */
async function tryConversation(job: UserImport, parent: SourceFolder, entry: SourceEntry): Promise<string> {
  const fault = entryFault(entry);
  if (fault !== undefined) return fault;
  try {
    const folder = parent.folder(entry.name);
    return folder === undefined ? 'cannot be read' : await importConversation(job, folder, entry.name);
  } catch (error) {
    if (error instanceof Interrupted || error instanceof AppError) throw error;
    const { code = 'internal error' } = error as NodeJS.ErrnoException;
    return `could not be imported (${code})`;
  }
}

async function importConversations(job: UserImport): Promise<void> {
  const { report, counts } = job;
  for (const [parent, entry] of conversationEntries(job.source)) {
    job.onEvents(0);
    const outcome = await tryConversation(job, parent, entry);
    counts.conversations.found += 1;
    if (outcome === 'imported') counts.conversations.imported += 1;
    else if (outcome === 'exists') counts.conversations.already_imported += 1;
    else {
      counts.conversations.skipped += 1;
      reportMissing(report, join(parent.path, entry.name), reasons[outcome] ?? outcome);
    }
    job.onConversation();
  }
}

/** Imports everything and returns what happened. An error of the database ends it; it can be repeated then. */
export async function importFileStore(options: ImportOptions): Promise<ImportReport> {
  const { found, folder, dryRun, openTarget, onProgress, signal, nowMs, agentNames } = options;
  const report = createReport(folder, dryRun);
  for (const { path, reason } of found.skipped) reportMissing(report, path, reason);
  const total = countConversations(found.users);
  let [done, events] = [0, 0];

  function onEvents(count: number): void {
    if (signal.aborted) throw new Interrupted();
    events += count;
    onProgress({ done, total, events });
  }

  function onConversation(): void {
    done += 1;
    onProgress({ done, total, events });
  }

  try {
    for (const source of found.users) {
      onEvents(0);
      const counts = report.users.find(({ user }) => user === source.name) ?? reportUser(report, source.name);
      const target = await openTarget(source.name);
      const job = { target, source, report, counts, nowMs, agentNames, onEvents, onConversation };
      await target.prepare();
      for (const file of settingsFiles) await importSettingsFile(job, file);
      await importConversations(job);
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    report.interrupted = true;
  }
  return report;
}
