// What an import did, and what it left out and why. It contains names, numbers and reasons, never a value.

const skippedListedMax = 1_000;
const pathCharsMax = 300;
const reasonCharsMax = 1_000;

/** Something that was not imported. `reason` is the end of a sentence that begins with `path`. */
export interface Skipped {
  readonly path: string;
  readonly reason: string;
}

export interface UserReport {
  readonly user: string;
  /** Names. */
  readonly settings: string[];
  readonly provider_tokens: string[];
  readonly secrets: string[];
  readonly conversations: { found: number; imported: number; already_imported: number; skipped: number };
  readonly events: { imported: number; skipped: number };
}

export interface ImportReport {
  readonly folder: string;
  readonly dry_run: boolean;
  /** Whether it was stopped before its end. */
  interrupted: boolean;
  /** Whether a whole user, file or conversation was left out. */
  incomplete: boolean;
  readonly users: UserReport[];
  readonly skipped: Skipped[];
  /** How many more there were than are listed. */
  skipped_unlisted: number;
}

export function createReport(folder: string, dryRun: boolean): ImportReport {
  return {
    folder,
    dry_run: dryRun,
    interrupted: false,
    incomplete: false,
    users: [],
    skipped: [],
    skipped_unlisted: 0,
  };
}

export function reportUser(report: ImportReport, user: string): UserReport {
  const one: UserReport = {
    user,
    settings: [],
    provider_tokens: [],
    secrets: [],
    conversations: { found: 0, imported: 0, already_imported: 0, skipped: 0 },
    events: { imported: 0, skipped: 0 },
  };
  report.users.push(one);
  return one;
}

/** A part of something that was imported. */
export function reportSkipped(report: ImportReport, path: string, reason: string): void {
  if (report.skipped.length === skippedListedMax) report.skipped_unlisted += 1;
  else
    report.skipped.push({
      path: path.slice(0, pathCharsMax).toWellFormed(),
      reason: reason.slice(0, reasonCharsMax).toWellFormed(),
    });
}

/** A whole user, file or conversation. */
export function reportMissing(report: ImportReport, path: string, reason: string): void {
  report.incomplete = true;
  reportSkipped(report, path, reason);
}
