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

/** `url` is the address of a service that the environment of the editor names. */
async function openCopy(cwd: string, url: string | undefined, refusal?: string): Promise<Folder> {
  const { creation, notes, subfolder } = await prepareFolder(cwd, refusal);
  const command = `${url === undefined ? '' : `PARLEY_URL=${shellWord(url)} `}${commandName} pull`;
  return {
    ...(creation.repository === undefined
      ? {}
      : { otherwise: (reason: string) => openCopy(cwd, url, refusedRepository(reason)) }),
    creation: { ...creation, ...instructions(subfolder) },
    notes: (id) => {
      if (creation.workspace_patch == null) return notes;
      return [
        ...notes,
        `The agent works in a copy of your folder. Bring its changes back with: ${command} ${shellWord(id)}`,
      ];
    },
  };
}

interface EditorFoldersOptions {
  /** Whether the service has the files of this machine. */
  readonly isLocal: boolean;
  readonly url: string | undefined;
}

export function createEditorFolders({ isLocal, url }: EditorFoldersOptions): ClientFolders {
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
      if (!isLocal) return openCopy(cwd, url);
      const { root, subfolder } = await locateFolder(cwd);
      return {
        creation: { local_folder: root, client_folder: root, ...instructions(subfolder) },
        otherwise: () => openCopy(cwd, url),
      };
    },
  };
}
