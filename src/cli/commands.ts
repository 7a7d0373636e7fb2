// Every command, in the order in which the help lists them.
import type { Command, CommandGroup } from './command.ts';
import * as conversations from './declarations/conversations.ts';
import { defaultsGroup } from './declarations/defaults.ts';
import * as machine from './declarations/machine.ts';
import * as services from './declarations/services.ts';
import { usersGroup } from './declarations/users.ts';

export type Entry = Command | CommandGroup;

interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

export const sections: readonly Section[] = [
  {
    title: 'Conversations',
    entries: [
      conversations.newCommand,
      conversations.runCommand,
      conversations.listCommand,
      conversations.searchCommand,
      conversations.showCommand,
      conversations.followCommand,
      conversations.logsCommand,
      conversations.sendCommand,
      conversations.forkCommand,
      conversations.confirmCommand,
      conversations.cancelCommand,
      conversations.stopCommand,
      conversations.startCommand,
      conversations.removeCommand,
      conversations.renameCommand,
      conversations.archiveCommand,
      conversations.pinCommand,
      conversations.changeCommand,
      conversations.diffCommand,
      conversations.pullCommand,
      conversations.filesCommand,
      conversations.catCommand,
      conversations.uploadCommand,
      conversations.feedbackGroup,
    ],
  },
  {
    title: 'Services',
    entries: [
      services.acpCommand,
      services.loginCommand,
      services.logoutCommand,
      services.contextsCommand,
      services.settingsGroup,
      services.providerKeysGroup,
      defaultsGroup,
      services.keysGroup,
      usersGroup,
      services.webhooksGroup,
      services.doctorCommand,
    ],
  },
  {
    title: 'This machine',
    entries: [
      machine.serveCommand,
      machine.agentsGroup,
      machine.importGroup,
      machine.auditCommand,
      machine.migrateCommand,
      machine.secretsGroup,
      machine.snapshotsGroup,
      machine.backupCommand,
      machine.restoreCommand,
      machine.completionCommand,
      machine.completeCommand,
      machine.versionCommand,
    ],
  },
];

export const entries: readonly Entry[] = sections.flatMap((section) => section.entries);

/** Every command with its own arguments and options, such as `new` and `keys create`. */
export const commands: readonly Command[] = entries.flatMap((entry) =>
  'commands' in entry ? entry.commands : [entry],
);

/** Undefined if there is no such command or alias. */
export function findEntry(word: string): Entry | undefined {
  return entries.find(
    (entry) => entry.name === word || (!('commands' in entry) && entry.aliases?.includes(word)),
  );
}

/** The words that can be the first one, aliases included. */
export function firstWords(): string[] {
  return entries.flatMap((entry) => {
    if ('commands' in entry) return [entry.name];
    return entry.hidden ? [] : [entry.name, ...(entry.aliases ?? [])];
  });
}
