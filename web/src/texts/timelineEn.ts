// Texts of the timeline in English.
import type { WorkSummary } from '../conversation/timeline/summary.ts';

function counted(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
}

function sentence(parts: readonly string[]): string {
  const text = parts.join(', ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export const timelineEn = {
  /** Such as "Read 5 files, ran 2 commands". */
  work: ({ readFiles, commands, changedFiles, pages, tools }: WorkSummary): string =>
    sentence([
      ...counted(readFiles, 'file', 'files').map((files) => `read ${files}`),
      ...counted(changedFiles, 'file', 'files').map((files) => `changed ${files}`),
      ...counted(commands, 'command', 'commands').map((count) => `ran ${count}`),
      ...counted(pages, 'page', 'pages').map((count) => `fetched ${count}`),
      ...counted(tools, 'tool call', 'tool calls').map((count) => `made ${count}`),
    ]),
  failed: (count: number) => `${count} failed`,
  whileAway: 'While you were away',
  awayWork: ({ messages, changedFiles, commands, readFiles, approvals, errors }: WorkSummary): string =>
    [
      ...counted(messages, 'message', 'messages'),
      ...counted(changedFiles, 'file changed', 'files changed'),
      ...counted(commands, 'command', 'commands'),
      ...counted(readFiles, 'file read', 'files read'),
      ...counted(approvals, 'approval request', 'approval requests'),
      ...counted(errors, 'error', 'errors'),
    ].join(', '),
  jumpToNew: 'See what is new',
  jumpToLatest: 'Jump to latest',
  newItems: (count: number) => `${count} new`,
  link: (time: string) => `Link to this event, ${time}`,
  linkWithoutTime: 'Link to this event',
  copyMessage: 'Copy message',
  copyOutput: 'Copy output',
  copyDiff: 'Copy diff',
};

export const searchEn = {
  label: 'Search this conversation',
  older: 'Previous match',
  newer: 'Next match',
  close: 'Close search',
  none: 'No matches',
  failed: 'The search failed',
  position: (at: number, count: string) => `${at} of ${count}`,
};

export const reviewEn = {
  open: 'Review all',
  files: 'Changed files',
  sideBySide: 'Side by side',
  commentOn: (line: number) => `Comment on line ${line}`,
  add: 'Add comment',
  cancel: 'Cancel',
  remove: 'Remove',
  send: (count: number) =>
    count === 0 ? 'Send comments' : count === 1 ? 'Send 1 comment' : `Send ${count} comments`,
};
