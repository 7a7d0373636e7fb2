// Texts of the timeline in German.
import type { reviewEn, searchEn, timelineEn } from './timelineEn.ts';

function counted(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
}

export const timelineDe: typeof timelineEn = {
  work: ({ readFiles, commands, changedFiles, pages, tools }) =>
    [
      ...counted(readFiles, 'Datei gelesen', 'Dateien gelesen'),
      ...counted(changedFiles, 'Datei geändert', 'Dateien geändert'),
      ...counted(commands, 'Befehl ausgeführt', 'Befehle ausgeführt'),
      ...counted(pages, 'Seite abgerufen', 'Seiten abgerufen'),
      ...counted(tools, 'Toolaufruf', 'Toolaufrufe'),
    ].join(', '),
  failed: (count) => `${count} fehlgeschlagen`,
  whileAway: 'Während Sie weg waren',
  awayWork: ({ messages, changedFiles, commands, readFiles, approvals, errors }) =>
    [
      ...counted(messages, 'Nachricht', 'Nachrichten'),
      ...counted(changedFiles, 'Datei geändert', 'Dateien geändert'),
      ...counted(commands, 'Befehl', 'Befehle'),
      ...counted(readFiles, 'Datei gelesen', 'Dateien gelesen'),
      ...counted(approvals, 'Freigabeanfrage', 'Freigabeanfragen'),
      ...counted(errors, 'Fehler', 'Fehler'),
    ].join(', '),
  jumpToNew: 'Neues ansehen',
  jumpToLatest: 'Zum Neuesten',
  newItems: (count) => `${count} neu`,
  link: (time) => `Link zu diesem Ereignis, ${time}`,
  linkWithoutTime: 'Link zu diesem Ereignis',
  copyMessage: 'Nachricht kopieren',
  copyOutput: 'Ausgabe kopieren',
  copyDiff: 'Diff kopieren',
};

export const searchDe: typeof searchEn = {
  label: 'Dieses Gespräch durchsuchen',
  older: 'Vorheriger Treffer',
  newer: 'Nächster Treffer',
  close: 'Suche schließen',
  none: 'Keine Treffer',
  failed: 'Die Suche ist fehlgeschlagen',
  position: (at, count) => `${at} von ${count}`,
};

export const reviewDe: typeof reviewEn = {
  open: 'Alle prüfen',
  files: 'Geänderte Dateien',
  sideBySide: 'Nebeneinander',
  commentOn: (line) => `Zeile ${line} kommentieren`,
  add: 'Kommentar hinzufügen',
  cancel: 'Abbrechen',
  remove: 'Entfernen',
  send: (count) =>
    count === 0 ? 'Kommentare senden' : count === 1 ? '1 Kommentar senden' : `${count} Kommentare senden`,
};
