// The folders of an editor on this machine: its agent works in them directly if the service allows it, otherwise in a
// copy.
import type { ClientFolders, Folder } from '../../acp/clientFolders.ts';
import { commandName } from '../../process/program.ts';
import { shellWord } from '../../text/plainText.ts';
import { locateFolder } from './folderLocation.ts';
import { prepareFolder, refusedRepository } from './prepareFolder.ts';

/** Agents start in the top folder. */
function instructions(subfolder: string) {
  if (subfolder === '') return {};
  return { conversation_instructions: `The user works in the folder ${subfolder} of the workspace.` };
}

async function openCopy(cwd: string, refusal?: string): Promise<Folder> {
  const { creation, notes, subfolder } = await prepareFolder(cwd, refusal);
  return {
    ...(creation.repository === undefined
      ? {}
      : { otherwise: (reason: string) => openCopy(cwd, refusedRepository(reason)) }),
    creation: { ...creation, ...instructions(subfolder) },
    notes: (id) => {
      if (creation.workspace_patch == null) return notes;
      return [
        ...notes,
        `The agent works in a copy of your folder. Bring its changes back with: ${commandName} pull ${shellWord(id)}`,
      ];
    },
  };
}

/** `isLocal`: whether the service has the files of this machine. */
export function createEditorFolders(isLocal: boolean): ClientFolders {
  return {
    findRoot: async (cwd) => {
      try {
        return (await locateFolder(cwd)).root;
      } catch {
        // A folder that does not exist any more may still have conversations.
        return cwd;
      }
    },
    open: async (cwd) => {
      if (!isLocal) return openCopy(cwd);
      const { root, subfolder } = await locateFolder(cwd);
      return {
        creation: { local_folder: root, client_folder: root, ...instructions(subfolder) },
        otherwise: () => openCopy(cwd),
      };
    },
  };
}
