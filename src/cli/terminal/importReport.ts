// Prints what an import did: as text, or as one JSON object.

import { plainLine } from '../../text/plainText.ts';
import type { ImportReport, UserReport } from '../../v0/import/report.ts';
import type { Output } from './output.ts';

function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString('en')} ${value === 1 ? one : many}`;
}

function userLines({ user, settings, provider_tokens, secrets, conversations, events }: UserReport): string {
  const records = [
    count(settings.length, 'setting'),
    count(provider_tokens.length, 'access token'),
    count(secrets.length, 'secret'),
    count(conversations.imported, 'conversation'),
    count(events.imported, 'event'),
  ];
  const rest = [
    conversations.already_imported > 0 &&
      `${count(conversations.already_imported, 'conversation')} imported before`,
    conversations.skipped > 0 && `${count(conversations.skipped, 'conversation')} skipped`,
    events.skipped > 0 && `${count(events.skipped, 'event')} skipped`,
  ].filter((part) => part !== false);
  const more = rest.length === 0 ? '' : `; ${rest.join(', ')}`;
  return `${plainLine(user)}: ${records.join(', ')}${more}.\n`;
}

export function printImportReport(output: Output, report: ImportReport): void {
  if (output.isJson) output.json(report);
  else printText(output, report);
}

function printText(output: Output, report: ImportReport): void {
  output.text(report.dry_run ? 'This would be imported:\n' : 'Imported:\n');
  for (const user of report.users) output.text(`  ${userLines(user)}`);
  if (report.skipped.length === 0) return;
  output.text('\nNot imported:\n');
  for (const { path, reason } of report.skipped) output.text(`  ${plainLine(`${path} ${reason}`)}\n`);
  if (report.skipped_unlisted > 0) output.text(`  and ${report.skipped_unlisted} more\n`);
}
